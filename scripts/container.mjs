// The parts that all container engines of tests and measurements share: a user without rights, and an image that is made of programs of this
// machine, because no registry is asked. It needs root, and leaves the user behind.
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"

/** The user, and its group. */
export const user = "reins-podman"

export const run = (program, args, options = {}) => {
  const { error, status, stderr, stdout } = spawnSync(program, args, { encoding: "utf8", ...options })
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? stderr}`)
  return stdout
}

const succeeds = (program, args) => spawnSync(program, args, { stdio: "ignore" }).status === 0

/** Makes the user, with the range of users that its containers need, and gives its numbers and the words before a command of it. */
export const makeUser = () => {
  if (!succeeds("id", [user])) run("useradd", ["--system", "--no-create-home", "--home-dir", "/nonexistent", user])
  const has = (file) => existsSync(file) && new RegExp(`^${user}:`, "m").test(readFileSync(file, "utf8"))
  if (!has("/etc/subuid")) run("usermod", ["--add-subuids", "2000000-2065535", user])
  if (!has("/etc/subgid")) run("usermod", ["--add-subgids", "2000000-2065535", user])
  const [uid, gid] = ["-u", "-g"].map((flag) => Number(run("id", [flag, user])))
  return { uid, gid, asUser: ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"] }
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

/** The files of an image as an archive in a directory. */
export const makeImage = (place) => {
  const root = join(place, "root")
  for (const name of ["proc", "sys", "dev", "tmp", "run", "etc", "usr"])
    mkdirSync(join(root, name), { recursive: true })
  for (const name of ["bin", "sbin", "lib", "lib64"]) symlinkSync(`usr/${name}`, join(root, name))
  const list = filesOf().map((path) => path.slice(1))
  run("sh", ["-c", `tar -C / -cf - -T - | tar -C '${root}' -xf -`], { input: list.join("\n") })
  const archive = join(place, "image.tar")
  run("tar", ["-C", root, "-cf", archive, "."])
  rmSync(root, { recursive: true })
  return archive
}

/** A variable that the image sets, and that agents in it have. */
export const imageSays = ["--change", "ENV IMAGE_SAYS=hello"]
