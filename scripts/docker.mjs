// Docker for tests: a daemon of its own, in namespaces of its own for mounts and for the network, that a user without rights may use. It needs root,
// and leaves that user behind.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { imageSays, makeImage, makeUser, run, user } from "./container.mjs"

/** The daemon keeps its files below /run in memory, and sees its mounts alone. It ends with the process that started it. */
const apart = [
  ...["setpriv", "--pdeathsig", "TERM", "unshare", "--mount", "--propagation", "private", "--net", "sh", "-c"],
  ...['mount -t tmpfs none /run && exec "$@"', "sh"]
]

/** No container is given a network, so the daemon needs none either. */
const words = ({ parent, place, socket }) => [
  ...["dockerd", "--bridge=none", "--iptables=false", "--ip6tables=false", "--group", user],
  ...["--data-root", join(place, "data"), "--exec-root", join(place, "exec"), "--pidfile", join(place, "pid")],
  ...["--host", socket, "--cgroup-parent", parent]
]

/** A daemon that answers. Fails with its words when it ends before. */
const started = async (place, socket, parent) => {
  const log = openSync(join(place, "log"), "a")
  const [program, ...args] = [...apart, ...words({ parent, place, socket })]
  const daemon = spawn(program, args, { stdio: ["ignore", log, log] })
  closeSync(log)
  const answers = () => {
    try {
      return run("docker", ["--host", socket, "version", "--format", "{{.Server.Version}}"]) !== ""
    } catch {
      return false
    }
  }
  while (!answers()) {
    if (daemon.exitCode !== null || daemon.signalCode !== null)
      throw new Error(readFileSync(join(place, "log"), "utf8"))
    await setTimeout(100)
  }
  return daemon
}

/** The directories of cgroups, of either version, that the daemon has made for its containers. */
const removeCgroups = (parent) => {
  const find = `find /sys/fs/cgroup -depth -type d -path "*${parent}*" -exec rmdir {} +`
  run("sh", ["-c", `${find} 2>/dev/null; true`])
}

/** Makes a place for the engine, as `podmanPlace` does. */
export const dockerPlace = async () => {
  const { asUser, gid, uid } = makeUser()
  const place = mkdtempSync(join(tmpdir(), "rd-"))
  const home = join(place, "h")
  mkdirSync(home)
  chmodSync(place, 0o755)
  const [socket, parent] = [`unix://${join(place, "docker.sock")}`, `/reins-test-${process.pid}`]
  const daemon = await started(place, socket, parent)
  const archive = makeImage(place)
  run("chown", ["-R", `${uid}:${gid}`, home, archive])
  const env = { HOME: home, DOCKER_HOST: socket, REINS_CONTAINER_ENGINE: "docker", TMPDIR: "/tmp" }
  const engine = (...args) => {
    const [program, ...rest] = [...asUser, "docker", ...args]
    return run(program, rest, { cwd: place, env: { PATH: process.env.PATH, ...env } })
  }
  const image = engine("import", ...imageSays, archive).trim()
  rmSync(archive)
  const remove = async () => {
    const left = engine("ps", "--all", "--quiet").split("\n").filter(Boolean)
    if (left.length > 0) engine("rm", "--force", ...left)
    const ended = once(daemon, "exit")
    daemon.kill("SIGTERM")
    await ended
    removeCgroups(parent)
    rmSync(place, { recursive: true, force: true, maxRetries: 10 })
  }
  const limitedBy = existsSync("/sys/fs/cgroup/cgroup.controllers") ? "cgroup_v2" : "cgroup_v1"
  return { name: "docker", launcher: asUser, env, uid, gid, inside: uid, limitedBy, engine, image, remove }
}
