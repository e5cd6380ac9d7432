/* A module "compiled_frames" that runs functions as Nuitka's compiled ones run: their frames lie in frame objects of
 * a type of its own, no eval call runs them, and their instruction is outside of their code. */
#define Py_BUILD_CORE
#include <Python.h>
#include <internal/pycore_frame.h>
#include <pthread.h>
#include <time.h>

#if PY_VERSION_HEX < 0x030d0000
#define CURRENT_FRAME (PyThreadState_Get()->cframe->current_frame)
#define CODE          f_code
#define INSTRUCTION   prev_instr
#else
#define CURRENT_FRAME (PyThreadState_Get()->current_frame)
#define CODE          f_executable
#define INSTRUCTION   instr_ptr
#endif

struct compiled_frame {
    PyFrameObject object;
    void *more[4];
    _PyInterpreterFrame frame;
};

static PyTypeObject frame_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "compiled_frame",
    .tp_basicsize = sizeof(struct compiled_frame) + 8 * sizeof(void *),
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

static __attribute__((noinline)) void burn_native(double seconds)
{
    clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    while (clock() < end)
        ;
}

/* Uses CPU in the frame itself, then in what it calls. */
static PyObject *run(PyObject *code, PyObject *callable, double seconds)
{
    struct compiled_frame *own = PyObject_New(struct compiled_frame, &frame_type);
    if (!own)
        return NULL;
    memset((char *)own + sizeof(PyObject), 0, sizeof *own - sizeof(PyObject));
    own->object.f_frame = &own->frame;
    own->frame.owner = FRAME_OWNED_BY_GENERATOR;
    own->frame.frame_obj = &own->object;
    own->frame.CODE = (void *)code;
    own->frame.INSTRUCTION = _PyCode_CODE((PyCodeObject *)code) + Py_SIZE(code) + 3;
    own->frame.previous = CURRENT_FRAME;
    CURRENT_FRAME = &own->frame;
    burn_native(seconds);
    PyObject *result = callable == Py_None ? Py_NewRef(Py_None) : PyObject_CallNoArgs(callable);
    CURRENT_FRAME = own->frame.previous;
    own->frame.previous = NULL;
    Py_DECREF(own);
    return result;
}

struct call {
    PyObject *code, *callable;
    double seconds;
};

static void *in_thread(void *argument)
{
    const struct call *call = argument;
    PyGILState_STATE state = PyGILState_Ensure();
    Py_XDECREF(run(call->code, call->callable, call->seconds));
    PyGILState_Release(state);
    return NULL;
}

static PyObject *call(PyObject *self, PyObject *arguments)
{
    struct call call;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "O!Od", &PyCode_Type, &call.code, &call.callable, &call.seconds))
        return NULL;
    return run(call.code, call.callable, call.seconds);
}

/* In a thread that has no other frames. */
static PyObject *call_in_thread(PyObject *self, PyObject *arguments)
{
    struct call call;
    pthread_t thread;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "O!Od", &PyCode_Type, &call.code, &call.callable, &call.seconds))
        return NULL;
    Py_BEGIN_ALLOW_THREADS pthread_create(&thread, NULL, in_thread, &call);
    pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"call", call, METH_VARARGS, NULL}, {"call_in_thread", call_in_thread, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "compiled_frames", .m_methods = methods};

PyMODINIT_FUNC PyInit_compiled_frames(void)
{
    return PyType_Ready(&frame_type) == 0 ? PyModule_Create(&module) : NULL;
}
