// The time until the agent of a session in a large repository asks its model, and the disk of the session, beside git by hand.
import { execFile, execFileSync, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { script, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { now } from "./clock.mjs"
import { connect, install } from "./installation.mjs"
import { median } from "./load.mjs"
import { directory } from "./processes.mjs"
import { git } from "./repository.mjs"

const apiKey = "bench-key"
const seconds = (ms) => ms / 1000

export const checkouts = async ({ report, settings: { repository, rounds } }) => {
  const { files, megabytes } = repository
  report.subject(`A repository of ${files} files and ${megabytes} MB, over http, beside git by hand`)
  const remote = await serve(makeLarge("large-remote", repository))
  const times = { clone: [], checkout: [], agent: [], first: [], second: [] }
  const shares = { first: [], second: [] }
  try {
    for (let round = 0; round < rounds; round++) {
      const byHand = await handMade(remote.url, round)
      const session = await inSessions(remote.url, round)
      for (const [name, time] of Object.entries({ ...byHand, ...session.times })) times[name].push(time)
      for (const name of ["first", "second"]) shares[name].push(session.disks[name])
    }
  } finally {
    await remote.close()
  }
  const agent = median(times.agent)
  report.note(
    `git clone ${shown(times.clone)}, git checkout ${shown(times.checkout)}, a session without a repository ${shown(times.agent)}`
  )
  report.note(`to the first model call: first session ${shown(times.first)}, second session ${shown(times.second)}`)
  const beyond = (name, hand) => seconds(median(times[name]) - median(times[hand]) - agent)
  report.figure("First session, to its model call, over git clone and the agent", beyond("first", "clone"), "s", {
    atMost: 1
  })
  report.figure("Second session, over git checkout and the agent", beyond("second", "checkout"), "s", { atMost: 0.5 })
  report.figure("Disk of the first session over its working tree", median(shares.first), "%")
  report.figure("Disk of the second session over its working tree", median(shares.second), "%", { atMost: 5 })
}

const shown = (times) => `${seconds(median(times)).toFixed(2)} s`

/** A bare repository of files whose content no packing makes smaller, so that the objects are as large as they. */
const makeLarge = (name, { files, megabytes }) => {
  const source = join(directory, `${name}-source`)
  const size = Math.max(1, Math.floor((megabytes * 1_000_000) / files / 2))
  for (let index = 0; index < files; index++) {
    const path = join(source, `package-${index % 40}`, `folder-${Math.floor(index / 40) % 50}`, `file-${index}.txt`)
    if (index < 2_000) mkdirSync(dirname(path), { recursive: true })
    // Hexadecimal digits are packed to half their size.
    writeFileSync(path, randomBytes(2 * size).toString("hex"))
  }
  git(source, ["init", "--quiet", "--initial-branch=main"])
  // Random content has no deltas to look for.
  git(source, ["config", "pack.window", "0"])
  git(source, ["config", "gc.auto", "0"])
  git(source, ["add", "--all"])
  git(source, ["commit", "--quiet", "--message=first"])
  const bare = join(directory, `${name}.git`)
  git(directory, ["clone", "--quiet", "--bare", source, bare])
  git(bare, ["repack", "-a", "-d", "--quiet", "--window=0"])
  return bare
}

/** Serves a repository by git's own program for http, on this machine. */
const serve = async (bare) => {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost")
    const child = spawn("git", ["http-backend"], {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: dirname(bare),
        GIT_HTTP_EXPORT_ALL: "1",
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers["content-type"] ?? "",
        HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
        GIT_PROTOCOL: request.headers["git-protocol"] ?? ""
      },
      stdio: ["pipe", "pipe", "ignore"]
    })
    request.pipe(child.stdin)
    child.stdin.on("error", () => {})
    let head = Buffer.alloc(0)
    child.stdout.on("data", function begin(piece) {
      head = Buffer.concat([head, piece])
      const end = head.indexOf("\r\n\r\n")
      if (end < 0) return
      for (const line of head.subarray(0, end).toString("latin1").split("\r\n")) {
        const [name, value] = line.split(": ")
        if (name === "Status") response.statusCode = Number.parseInt(value, 10)
        else response.setHeader(name, value)
      }
      child.stdout.off("data", begin)
      response.write(head.subarray(end + 4))
      child.stdout.pipe(response)
    })
  })
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
  const close = () =>
    new Promise((resolve) => {
      server.close(resolve)
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${server.address().port}/${bare.split("/").at(-1)}`, close }
}

/** The server of the remote lives in this process, so git must not block it. */
const gitBeside = (args) =>
  promisify(execFile)("git", args, {
    cwd: directory,
    env: { PATH: process.env.PATH, HOME: directory, GIT_CONFIG_NOSYSTEM: "1" }
  })

const timed = async (run) => {
  await settled()
  const began = now()
  await run()
  return now() - began
}

/**
 * Waits until the disk has all that was written. Each clock starts after it. Nothing is deleted while times are taken: a disk that is mounted with
 * `discard` is busy for many seconds after a tree was deleted, and whatever writes then takes five times as long.
 */
const settled = () => promisify(execFile)("sync", [])

/** The times of a clone by hand, and of a checkout of what is cloned. */
const handMade = async (url, round) => {
  const [whole, objects] = [join(directory, `by-hand-${round}`), join(directory, `by-hand-objects-${round}`)]
  const clone = await timed(() => gitBeside(["clone", "--quiet", url, whole]))
  await gitBeside(["clone", "--quiet", "--no-checkout", url, objects])
  const checkout = await timed(() => gitBeside(["-C", objects, "checkout", "--quiet", "main"]))
  return { clone, checkout }
}

/** The times from a message to the first model call, and the disk of each session, in an installation that knows nothing of the repository. */
const inSessions = async (url, round) => {
  const calls = new Map()
  const gateway = await startGateway({
    apiKey,
    onRequest: ({ messages, method }) => {
      const name = /session-(\w+)/.exec(JSON.stringify(messages))?.[1]
      if (method === "POST" && name !== undefined && !calls.has(name)) calls.set(name, now())
    }
  })
  const { dataDir, start } = await install(`repository-${round}`, { REINS_ALLOW_PRIVATE_HOSTS: "127.0.0.1" })
  const server = await start()
  try {
    await connect(server, gateway.url, apiKey)
    /** A session with one turn. */
    const run = async (name, input) => {
      const before = bytesIn(dataDir)
      const { id } = await server.newSession({ ...input, prewarm: false })
      const { event_watermark: after } = await server.reins.sessions.get({ session_id: id })
      const events = server.reins.sessions.stream({ session_id: id, after })
      await settled()
      const sent = now()
      await server.reins.messages.send({
        session_id: id,
        content: script(`This is session-${name}.`, { say: "Done." })
      })
      for await (const { payload, type } of events) {
        if (type === "turn.succeeded") break
        if (/^turn\.(?:failed|cancelled|interrupted)$/.test(type))
          throw new Error(`the turn ${payload.turn.state}: ${payload.turn.reason_message}`)
      }
      const place = join(dataDir, "sessions", id)
      const tree = bytesIn(join(place, "workspace"), ".git")
      // The program of the agent keeps in its home what no repository changes.
      const more = bytesIn(dataDir) - before - tree - bytesIn(join(place, "home"))
      return { time: calls.get(name) - sent, disk: (100 * more) / tree }
    }
    // The first start reads the program from the disk.
    await run("warmup")
    const agent = await run("agent")
    const first = await run("first", { repository: { url } })
    const second = await run("second", { repository: { url } })
    return {
      times: { agent: agent.time, first: first.time, second: second.time },
      disks: { first: first.disk, second: second.disk }
    }
  } finally {
    await server.stop()
    await gateway.close()
  }
}

/** The bytes on disk below a directory. Files with several names count once. */
const bytesIn = (path, without) => {
  const args = ["-s", "-B1", ...(without === undefined ? [] : [`--exclude=${without}`]), path]
  return Number.parseInt(execFileSync("du", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }), 10)
}
