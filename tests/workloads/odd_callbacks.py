"""Callbacks that are no functions, at whose place there are words that look like addresses."""
import asyncio, types, functools, sys, time
class CI(int):
    def __call__(self, *a): pass
n = 0
for i in range(60): n |= (0x20000 if i%2==0 else 1) << (30*i)
async def main(kind):
    asyncio.current_task().add_done_callback(types.MethodType(CI(n),1) if kind=='method' else functools.partial(CI(n),1))
    time.sleep(1.3)  # what was imported is found within a second
    e=time.process_time()+0.4
    while time.process_time()<e: pass
asyncio.run(main(sys.argv[1])); print("ok")
