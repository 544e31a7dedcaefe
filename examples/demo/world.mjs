// The things outside Reins that the demo needs: a git remote, an LLM gateway, and the server as its own process.
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { startGateway } from "../scripted-gateway/gateway.mjs"

const root = join(dirname(fileURLToPath(import.meta.url)), "../..")

const git = (cwd, ...args) =>
  execFileSync(
    "git",
    ["-c", "user.name=Demo", "-c", "user.email=demo@localhost", "-c", "init.defaultBranch=main", ...args],
    { cwd, encoding: "utf8" }
  )

/** A bare remote that holds a small project whose test fails. */
export const makeRemote = (directory) => {
  const source = join(directory, "project")
  mkdirSync(source, { recursive: true })
  writeFileSync(
    join(source, "package.json"),
    `${JSON.stringify({ name: "cart", type: "module", scripts: { test: "node --test" } }, null, 2)}\n`
  )
  writeFileSync(
    join(source, "cart.js"),
    "/** The price of all items, in cents. */\nexport const total = (items) => items.reduce((sum, item) => sum + item.price, 0)\n"
  )
  writeFileSync(
    join(source, "cart.test.js"),
    `import assert from "node:assert/strict"
import { test } from "node:test"
import { total } from "./cart.js"

test("the total counts every piece of an item", () => {
  assert.equal(total([{ price: 250, quantity: 2 }, { price: 100, quantity: 1 }]), 600)
})
`
  )
  git(source, "init", "--quiet")
  git(source, "add", ".")
  git(source, "commit", "--quiet", "-m", "A cart that forgets quantities")
  const remote = join(directory, "remote.git")
  git(directory, "clone", "--quiet", "--bare", source, remote)
  return {
    url: remote,
    clone: (branch, to) => git(directory, "clone", "--quiet", "--branch", branch, remote, to),
    log: () => git(remote, "log", "--all", "--oneline", "--decorate")
  }
}

/** Runs the project's own test in a checkout. */
export const runProjectTest = (directory) => {
  const run = spawnSync(process.execPath, ["--test"], {
    cwd: directory,
    encoding: "utf8",
    env: { ...process.env, NODE_TEST_CONTEXT: undefined }
  })
  return {
    passed: run.status === 0,
    output: run.stdout.split("\n").filter((row) => /^(# (pass|fail)|ℹ (pass|fail)|.*(600|350))/.test(row.trim()))
  }
}

/** The steps of the scripted model that make the test pass. Every tool call is carried out by the real agent. */
const fix = [
  { think: "First the test, then the code it tests.", tool: "bash", cmd: "node --test 2>&1 | tail -n 25" },
  {
    say: "The test expects 600 and gets 350: quantities are ignored. I look at the code.",
    tool: "read",
    path: "cart.js"
  },
  { tool: "edit", path: "cart.js", old: "sum + item.price, 0)", new: "sum + item.price * item.quantity, 0)" },
  { say: "Now the test again.", tool: "bash", cmd: "node --test 2>&1 | tail -n 12" },
  { say: "total() now multiplies each price by its quantity, and the test passes." }
]

/** The steps in which it gives work to another agent, and those of that agent. */
const split = [
  {
    say: "Another agent writes the notes.",
    tool: "delegate",
    args: { name: "notes", instructions: "Write NOTES.md: one line that says what this project does." }
  },
  { tool: "wait", args: { delegation_ids: ["notes"], for: "all" } },
  { tool: "read_diff", args: { delegation_id: "notes" } },
  { say: "The other agent has written NOTES.md, and I have read its changes." }
]
const notes = [
  { tool: "write", path: "NOTES.md", content: "Adds up the prices of a cart, piece by piece.\n" },
  { say: "NOTES.md says what the project does." }
]

/** The steps after the CI has failed. The log in the message names the test that only the CI has. */
const care = [
  {
    say: "The CI has a test of an item without a quantity, and gets NaN. I look at the code.",
    tool: "read",
    path: "cart.js"
  },
  { tool: "edit", path: "cart.js", old: "item.price * item.quantity", new: "item.price * (item.quantity ?? 1)" },
  { say: "Now the test of the project again.", tool: "bash", cmd: "node --test 2>&1 | tail -n 12" },
  { say: "An item without a quantity now counts once." }
]

/** The steps for what a person, the care for the merge request, or another agent has asked for last. */
const stepsFor = (messages) => {
  const asked = messages.findLast(({ role }) => role === "user")?.text ?? ""
  if (asked.includes("Write NOTES.md")) return notes
  if (asked.includes("NaN !== 250")) return care
  return asked.includes("another agent") ? split : fix
}

/** A real gateway if the environment names one, else the scripted one. */
export const chooseGateway = async () => {
  const { REINS_DEMO_API_KEY: apiKey, REINS_DEMO_BASE_URL: url, REINS_DEMO_MODEL: model } = process.env
  if (url || apiKey || model) {
    if (url && apiKey && model) return { scripted: false, url, apiKey, model, close: async () => {} }
    throw new Error("A real gateway needs all of REINS_DEMO_BASE_URL, REINS_DEMO_API_KEY and REINS_DEMO_MODEL.")
  }
  const apiKey2 = "demo-key"
  const gateway = await startGateway({ apiKey: apiKey2, plan: stepsFor })
  return { scripted: true, url: gateway.url, apiKey: apiKey2, model: "scripted-1", close: gateway.close }
}

/**
 * The sandbox where it works. Where it does not, a server that runs as root starts only when that is wanted, and the scripted model of the demo
 * means no harm.
 */
const executor = process.env.REINS_EXECUTOR ? [] : ["--executor", "bubblewrap,local"]

/** The server in a process of its own, on a free port. It asks the given hosts although they are private. */
export const startServer = async (dataDir, allowPrivateHosts = ["127.0.0.1"]) => {
  const child = spawn(
    process.execPath,
    [join(root, "packages/server/dist/main.js"), "serve", "--port", "0", "--data-dir", dataDir, ...executor],
    {
      // The remote of the demo is a folder of this machine, which a server refuses unless it is told otherwise.
      env: {
        ...process.env,
        REINS_ALLOW_LOCAL_REPOSITORIES: "true",
        REINS_ALLOW_PRIVATE_HOSTS: allowPrivateHosts.join(",")
      },
      stdio: ["ignore", "pipe", "pipe"]
    }
  )
  const log = []
  child.stderr.on("data", (chunk) => log.push(chunk))
  const ready = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (text) => resolve(JSON.parse(text)))
    child.on("exit", (code) => reject(new Error(`the server ended with ${code}:\n${Buffer.concat(log)}`)))
  })
  const stop = () =>
    new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve()
      child.removeAllListeners("exit").on("exit", resolve)
      child.kill("SIGTERM")
    })
  return { url: ready.url, pid: child.pid, stop, log: () => Buffer.concat(log).toString() }
}

/** The one-time token of the newest mail in the outbox, where a server without a mail server puts its mails. */
export const tokenFromOutbox = async (dataDir) => {
  const outbox = join(dataDir, "outbox")
  for (let tries = 0; tries < 200; tries++) {
    const mails = (() => {
      try {
        return readdirSync(outbox)
          .filter((name) => name.endsWith(".eml"))
          .sort()
      } catch {
        return []
      }
    })()
    const token = mails.length > 0 && /\/verify\?(\S+)/.exec(readFileSync(join(outbox, mails.at(-1)), "utf8"))?.[1]
    if (token) return token
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`no mail arrived in ${outbox}`)
}

/** A fetch that keeps the cookies of a login, as a browser does, and repeats the CSRF token in its header. */
export const browserFetch = () => {
  const cookies = new Map()
  return async (url, init = {}) => {
    const headers = new Headers(init.headers)
    if (cookies.size > 0) headers.set("cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "))
    const [, csrf] = [...cookies].find(([name]) => name.startsWith("reins_csrf_")) ?? []
    if (csrf !== undefined) headers.set("x-csrf-token", decodeURIComponent(csrf))
    const response = await fetch(url, { ...init, headers })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (name) cookies.set(name, value)
    }
    return response
  }
}
