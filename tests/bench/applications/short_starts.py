"""One short Python after the other, as Ansible starts its modules: short_starts.py SECONDS"""

import subprocess
import sys

MODULE = """
import argparse, json, os, platform, re, shutil, subprocess, tempfile
facts = {"system": platform.uname()._asdict(), "environment": dict(os.environ), "disk": shutil.disk_usage("/")._asdict()}
with tempfile.TemporaryFile("w") as file:
    json.dump(facts, file)
print(len(re.findall("[a-z]+", json.dumps(facts))), subprocess.run(["/bin/true"]).returncode)
"""

for number in range(int(float(sys.argv[1]) * 25)):
    subprocess.run([sys.executable, "-c", MODULE], check=True, stdout=subprocess.DEVNULL)
