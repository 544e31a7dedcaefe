import { execFile, execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { branchHeads } from "../git/Fixture.js"
import type { ForgeServer } from "./ForgeServer.js"
import type { HeldCheck } from "./ForgeStanding.js"

/** The longest run of the command, in milliseconds. */
const longestMs = 30_000

/** A CI that runs a command in the files of each pushed branch, and tells its forge the end and the log. */
export class ForgeCi {
  /** The branches as they were at the last push. */
  private readonly known = new Map<string, string>()
  private readonly running = new Set<Promise<void>>()

  /** `command` is for a shell. `name` is that of the check. */
  constructor(
    private readonly forge: ForgeServer,
    private readonly bare: string,
    private readonly command: string,
    private readonly name = "test"
  ) {
    for (const [branch, sha] of this.branches()) this.known.set(branch, sha)
  }

  /** Finds the branches that have moved, tells the hooks of them, and begins a run for each. */
  readonly pushed = (): void => {
    for (const [branch, sha] of this.branches()) {
      const before = this.known.get(branch)
      if (before === sha) continue
      this.known.set(branch, sha)
      this.forge.tellHooks({ what: "push", branch, sha, before: before ?? "0".repeat(40) })
      const run = this.run(sha)
      this.running.add(run)
      void run.finally(() => this.running.delete(run))
    }
  }

  /** Waits for the runs that have begun. */
  readonly idle = async (): Promise<void> => {
    while (this.running.size > 0) await Promise.all(this.running)
  }

  private readonly branches = (): ReadonlyArray<readonly [string, string]> => branchHeads(this.bare)

  private readonly run = async (head: string): Promise<void> => {
    const check = this.forge.check({ head, name: this.name, state: "pending" })
    this.forge.tellHooks({ what: "check", check })
    const directory = mkdtempSync(join(tmpdir(), "reins-ci-"))
    const workTree = join(directory, "work")
    mkdirSync(workTree)
    try {
      execFileSync("git", [`--git-dir=${this.bare}`, `--work-tree=${workTree}`, "read-tree", "--reset", "-u", head], {
        env: { ...process.env, GIT_INDEX_FILE: join(directory, "index") }
      })
      this.end(check, await finished(this.command, workTree))
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }

  private readonly end = (check: HeldCheck, { code, output }: Ended): void => {
    check.log = `$ ${this.command}\n${output}\nexit ${code}\n`
    check.state = code === 0 ? "passed" : "failed"
    this.forge.tellHooks({ what: "check", check })
  }
}

interface Ended {
  readonly code: number
  readonly output: string
}

const finished = (command: string, cwd: string): Promise<Ended> =>
  new Promise((resolve) => {
    const child = execFile(
      "sh",
      ["-c", command],
      { cwd, timeout: longestMs, env: { PATH: process.env.PATH ?? "", CI: "true" } },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? 1, output: `${stdout}${stderr}` })
    )
  })
