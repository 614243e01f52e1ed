# SPDX-License-Identifier: Apache-2.0
"""NVML asked directly, so that a test can compare what muster says with what
the driver says. Nothing here is muster's. Needs the driver's library only."""
import ctypes


class Memory2(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("total", ctypes.c_ulonglong),
                ("reserved", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong),
                ("used", ctypes.c_ulonglong)]


class Pci(ctypes.Structure):
    _fields_ = [("legacy", ctypes.c_char * 16), ("domain", ctypes.c_uint),
                ("bus", ctypes.c_uint), ("device", ctypes.c_uint),
                ("ids", ctypes.c_uint), ("subsystem", ctypes.c_uint),
                ("bus_id", ctypes.c_char * 32)]


class Nvml:
    """Raises OSError where there is no driver or it does not answer."""

    def __init__(self):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self._call("nvmlInit_v2")

    def _call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise OSError(f"{name} gives {code}")

    def _text(self, name, *before):
        buffer = ctypes.create_string_buffer(96)
        self._call(name, *before, buffer, 96)
        return buffer.value.decode()

    def driver(self):
        return self._text("nvmlSystemGetDriverVersion")

    def gpus(self):
        """A dict for each GPU: name, uuid, pci, total, used, reserved, mig."""
        count = ctypes.c_uint()
        self._call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        return [self._gpu(i) for i in range(count.value)]

    def _gpu(self, index):
        device = ctypes.c_void_p()
        self._call("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(device))
        memory = Memory2(version=ctypes.sizeof(Memory2) | 2 << 24)
        self._call("nvmlDeviceGetMemoryInfo_v2", device, ctypes.byref(memory))
        pci = Pci()
        self._call("nvmlDeviceGetPciInfo_v3", device, ctypes.byref(pci))
        now, then = ctypes.c_uint(), ctypes.c_uint()
        mig = self.library.nvmlDeviceGetMigMode(
            device, ctypes.byref(now), ctypes.byref(then)) == 0 and now.value
        return {"name": self._text("nvmlDeviceGetName", device),
                "uuid": self._text("nvmlDeviceGetUUID", device),
                "pci": f"{pci.domain:04x}:{pci.bus:02x}:{pci.device:02x}.0",
                "total": memory.total, "used": memory.used,
                "reserved": memory.reserved, "mig": bool(mig)}
