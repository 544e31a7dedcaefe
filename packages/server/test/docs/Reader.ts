import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { type Block, ownNames, root } from "./Blocks.js"

/** The surroundings of a reader. */
export interface Surroundings {
  /** A directory that is there and empty. It becomes that of a clone, with a program of the reader's own in it. */
  readonly directory: string
  /** The variables of the reader's shell, among them the values that each reader has of their own. */
  readonly env: Readonly<Record<string, string>>
  /** A directory in which packages are installed. Given, the blocks are run in it, and there is no clone. */
  readonly installed?: string
}

/** The outcome of blocks that were run. */
export interface Read {
  /** 0 when every command succeeded. */
  readonly code: number | null
  /** The block that failed, as `docs/events.md:12`. */
  readonly failedAt: string | undefined
  /** All that was printed. When a command has failed, also what was said by those beside it. */
  readonly output: string
}

const inClone = ["package.json", "package-lock.json", "packages", "examples", "scripts", "docs", "node_modules"]

/** The packages that a program of a reader has installed. */
const installedInProgram = ["@reins/client", "@reins/core", "@reins/server", "effect"]

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * Runs the blocks of a page as a person would who runs everything on it from the top, in the root of a clone, and stops at the first command
 * that fails. The clone has to be set up, because `npm start` would do that in the middle of other tests.
 */
export const read = (blocks: ReadonlyArray<Block>, { directory, env, installed }: Surroundings): Effect.Effect<Read> =>
  Effect.suspend(() => {
    const { cwd, program } = installed === undefined ? clone(directory) : { cwd: installed, program: installed }
    const steps = blocks.map((block, index) => stepOf(block, join(program, String(index)), env))
    const script = join(directory, "page.sh")
    writeFileSync(script, [prelude(program), ...steps].join("\n"))
    return run(script, cwd, env)
  })

/** A clone as a directory of links, and beside it a program that has installed the packages. */
const clone = (directory: string): { readonly cwd: string; readonly program: string } => {
  requireSetUp()
  const cwd = join(directory, "clone")
  mkdirSync(cwd)
  for (const name of inClone) symlinkSync(join(root, name), join(cwd, name))
  const program = join(directory, "program")
  for (const name of installedInProgram) {
    mkdirSync(join(program, "node_modules", name, ".."), { recursive: true })
    symlinkSync(join(root, "node_modules", name), join(program, "node_modules", name))
  }
  return { cwd, program }
}

const requireSetUp = (): void => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts/setup.mjs"), "--quiet", "--check"], {
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(stderr)
}

/** An interactive shell expands aliases. What runs beside the page ends with it, however that ends. */
const prelude = (program: string): string => `set -eu
shopt -s expand_aliases
beside=
trap 'exit 143' TERM
end() {
  code=$?
  if [ $code != 0 ]; then echo "@failed $at"; cat ${quoted(program)}/*.out 2>/dev/null || true; fi
  for pid in $beside; do kill -TERM -- "-$pid"; wait "$pid" || true; done
}
trap end EXIT`

/** A block as lines of one script for bash, which keeps what a block before has set. */
const stepOf = (block: Block, file: string, env: Readonly<Record<string, string>>): string => {
  const at = `at=${quoted(block.place)}`
  if (block.use.kind === "own") {
    const unknown = ownNames(block).filter((name) => env[name] === undefined)
    if (unknown.length > 0) throw new Error(`${block.place}: nothing is known of ${unknown.join(", ")}`)
    return ""
  }
  if (block.use.kind === "beside") return `${at}\n${inBackground(block.code, file)}`
  if (block.use.kind !== "run") return ""
  if (block.language === "sh") {
    writeFileSync(`${file}.sh`, block.code)
    return `${at}\n. ${quoted(`${file}.sh`)}`
  }
  const name = `${file}.${block.language === "ts" ? "mts" : "mjs"}`
  writeFileSync(name, block.code)
  return `${at}\n(cd ${quoted(join(file, ".."))} && node ${quoted(name)})`
}

/** Starts a command as another terminal does, in a process group of its own, and waits until it has said that it is ready. */
const inBackground = (code: string, file: string): string => {
  writeFileSync(`${file}.sh`, code)
  writeFileSync(`${file}.out`, "")
  return `set -m; bash ${quoted(`${file}.sh`)} >${quoted(`${file}.out`)} 2>&1 & set +m
beside="$beside $!"
until grep -q '"event":"ready"' ${quoted(`${file}.out`)}; do
  kill -0 $! || { cat ${quoted(`${file}.out`)}; exit 1; }
  sleep 0.05
done`
}

/** Runs a script in a process group of its own, which is told to end when nobody waits for it any more. */
const run = (script: string, cwd: string, env: Readonly<Record<string, string>>): Effect.Effect<Read> =>
  Effect.async((resume) => {
    const child = spawn("bash", [script], {
      cwd,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        output += String(chunk)
      })
    const ended = new Promise<void>((resolve) =>
      child.once("close", (code) => {
        resolve()
        resume(Effect.succeed({ code, failedAt: /^@failed (.+)$/m.exec(output)?.[1], output }))
      })
    )
    return Effect.promise(() => {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM")
      return ended
    })
  })
