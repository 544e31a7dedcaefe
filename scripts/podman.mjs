// Rootless Podman for tests and measurements: a user without rights, engine files in a directory of their own, and an image that is made of
// programs of this machine, because no registry is asked. It needs root, and leaves the user behind.
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const user = "reins-podman"

const run = (program, args, options = {}) => {
  const { error, status, stderr, stdout } = spawnSync(program, args, { encoding: "utf8", ...options })
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? stderr}`)
  return stdout
}

const succeeds = (program, args) => spawnSync(program, args, { stdio: "ignore" }).status === 0

/** Makes the user, with the range of users that its containers need. */
const makeUser = () => {
  if (!succeeds("id", [user])) run("useradd", ["--system", "--no-create-home", "--home-dir", "/nonexistent", user])
  const has = (file) => existsSync(file) && new RegExp(`^${user}:`, "m").test(readFileSync(file, "utf8"))
  if (!has("/etc/subuid")) run("usermod", ["--add-subuids", "2000000-2065535", user])
  if (!has("/etc/subgid")) run("usermod", ["--add-subgids", "2000000-2065535", user])
}

/** The programs that agents and the attempts to get out of a container use. Those that this machine lacks are left out. */
const programs =
  "sh bash env cat grep sed awk perl ls head tail od timeout find stat touch rm ln mkdir chmod chown ps pgrep sleep mknod unshare nsenter " +
  "mount umount chroot setpriv su bwrap setarch chrt nice ionice hostname sysctl date dmesg swapoff prlimit ipcs ipcrm git setsid nohup truncate " +
  "readlink printf id tee wc cut tr sort uniq xargs cp mv renice curl kill true false df du dirname basename test expr seq mktemp mkfifo dd nc ssh"

/** The path below /usr, for machines where /bin and /lib are links to it. */
const inUsr = (path) => (/^\/(?:bin|sbin|lib|lib64)\//.test(path) ? `/usr${path}` : path)

/** The files of the image: the programs and the libraries that they and Node load. */
const filesOf = () => {
  const found = run("sh", ["-c", `for each in ${programs}; do command -v $each; done; true`], {
    env: { ...process.env, PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" }
  })
  const paths = found.split("\n").filter((path) => path.startsWith("/"))
  const loaded = [...paths, process.execPath].flatMap((path) => {
    const { stdout } = spawnSync("ldd", [realpathSync(path)], { encoding: "utf8" })
    return [...stdout.matchAll(/(\/\S+)/g)].map(([, library]) => library).filter((library) => existsSync(library))
  })
  const all = [...paths, ...loaded].flatMap((path) => [inUsr(path), inUsr(realpathSync(path))])
  const perl = run("perl", ["-e", 'print join "\\n", grep { -d } @INC'])
    .split("\n")
    .filter((path) => path.endsWith("-base"))
  return [...new Set([...all, "/usr/lib/git-core", "/usr/share/git-core", ...perl])].filter((path) => existsSync(path))
}

const makeRoot = (root) => {
  for (const name of ["proc", "sys", "dev", "tmp", "run", "etc", "usr"])
    mkdirSync(join(root, name), { recursive: true })
  for (const name of ["bin", "sbin", "lib", "lib64"]) symlinkSync(`usr/${name}`, join(root, name))
  const list = filesOf().map((path) => path.slice(1))
  run("sh", ["-c", `tar -C / -cf - -T - | tar -C '${root}' -xf -`], { input: list.join("\n") })
}

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
  makeUser()
  const [uid, gid] = ["-u", "-g"].map((flag) => Number(run("id", [flag, user])))
  const place = mkdtempSync(join(tmpdir(), "rp-"))
  const [home, runtime, root] = ["h", "r", "root"].map((name) => join(place, name))
  for (const path of [home, runtime, root]) mkdirSync(path, { mode: 0o700 })
  const conf = join(place, "containers.conf")
  writeFileSync(conf, '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n')
  const storage = join(place, "storage.conf")
  writeFileSync(storage, '[storage]\ndriver = "overlay"\n')
  chmodSync(place, 0o755)
  makeRoot(root)
  const archive = join(place, "image.tar")
  run("tar", ["-C", root, "-cf", archive, "."])
  rmSync(root, { recursive: true })
  run("chown", ["-R", `${uid}:${gid}`, place])
  const env = {
    HOME: home,
    XDG_RUNTIME_DIR: runtime,
    CONTAINERS_CONF: conf,
    CONTAINERS_STORAGE_CONF: storage,
    TMPDIR: "/tmp"
  }
  const asUser = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"]
  const launcher = [...alone(), ...asUser]
  const podman = (...args) => {
    const [program, ...words] = [...launcher, "podman", ...args]
    return run(program, words, { cwd: place, env: { PATH: process.env.PATH, ...env } })
  }
  podman("import", "--quiet", "--change", "ENV IMAGE_SAYS=hello", archive, "localhost/reins-test:1")
  rmSync(archive)
  const digest = podman("image", "inspect", "--format", "{{.Digest}}", "localhost/reins-test:1").trim()
  const remove = () => {
    podman("rm", "--all", "--force", "--time", "0")
    // The engine keeps a process that holds its namespaces.
    const pause = join(runtime, "libpod/tmp/pause.pid")
    if (existsSync(pause)) process.kill(Number(readFileSync(pause, "utf8")), "SIGKILL")
    rmSync(place, { recursive: true, force: true, maxRetries: 10 })
  }
  return { launcher, env, uid, gid, podman, image: `localhost/reins-test@${digest}`, remove }
}
