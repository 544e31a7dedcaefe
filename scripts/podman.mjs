// Rootless Podman for tests and measurements: engine files in a directory of their own.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { imageSays, makeImage, makeUser, run } from "./container.mjs"

/** The words that mount cgroup v2 alone for what follows, where this machine has both versions, which the runtime of Podman refuses. */
const alone = () =>
  existsSync("/sys/fs/cgroup/cgroup.controllers")
    ? []
    : [
        ...["unshare", "--mount", "--propagation", "private", "sh", "-c"],
        ...['umount -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"', "sh"]
      ]

/**
 * Makes a place for the engine. `launcher` is the words before a command that runs there as the user without rights; `env` is what it needs
 * besides. `remove` ends everything that runs there and removes it. The place has a short path, because conmon tells no end of a container
 * whose sockets have a long one, and Podman then waits for it for 20 s.
 */
export const podmanPlace = () => {
  const { asUser, gid, uid } = makeUser()
  const place = mkdtempSync(join(tmpdir(), "rp-"))
  const [home, runtime] = ["h", "r"].map((name) => join(place, name))
  for (const path of [home, runtime]) mkdirSync(path, { mode: 0o700 })
  const conf = join(place, "containers.conf")
  writeFileSync(conf, '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n')
  const storage = join(place, "storage.conf")
  writeFileSync(storage, '[storage]\ndriver = "overlay"\n')
  chmodSync(place, 0o755)
  const archive = makeImage(place)
  run("chown", ["-R", `${uid}:${gid}`, place])
  const env = {
    HOME: home,
    XDG_RUNTIME_DIR: runtime,
    CONTAINERS_CONF: conf,
    CONTAINERS_STORAGE_CONF: storage,
    TMPDIR: "/tmp"
  }
  const launcher = [...alone(), ...asUser]
  const engine = (...args) => {
    const [program, ...words] = [...launcher, "podman", ...args]
    return run(program, words, { cwd: place, env: { PATH: process.env.PATH, ...env } })
  }
  engine("import", "--quiet", ...imageSays, archive, "localhost/reins-test:1")
  rmSync(archive)
  const digest = engine("image", "inspect", "--format", "{{.Digest}}", "localhost/reins-test:1").trim()
  const remove = () => {
    engine("rm", "--all", "--force", "--time", "0")
    // The engine keeps a process that holds its namespaces.
    const pause = join(runtime, "libpod/tmp/pause.pid")
    if (existsSync(pause)) process.kill(Number(readFileSync(pause, "utf8")), "SIGKILL")
    rmSync(place, { recursive: true, force: true, maxRetries: 10 })
  }
  const image = `localhost/reins-test@${digest}`
  return { name: "podman", launcher, env, uid, gid, inside: 1000, limitedBy: null, engine, image, remove }
}
