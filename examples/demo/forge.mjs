// A small forge in front of the demo's remote: git over http, merge requests, a CI that runs tests, and a hook. It speaks as much of Gitea's API as
// Reins asks for.
import { execFileSync, spawn } from "node:child_process"
import { createHmac, randomUUID } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createGunzip } from "node:zlib"

const name = "you/cart"

/** A test that only the CI has, so the agent learns of it from the log alone. */
const ciTest = `import assert from "node:assert/strict"
import { test } from "node:test"
import { total } from "./cart.js"

test("an item without a quantity counts once", () => {
  assert.equal(total([{ price: 250 }]), 250)
})
`

/** Gives a checkout that test, too. */
export const addCiTest = (checkout) => writeFileSync(join(checkout, "ci.test.js"), ciTest)

/** Care waits two minutes for further red checks. The clock of this forge is three minutes slow, so nobody has to wait. */
const clock = () => new Date(Date.now() - 3 * 60_000).toISOString()

/** Serves one of the two programs of git that talk to its clients. `then` runs once it has ended. */
const serveGit = (bare, request, response, url, then) => {
  const [, service] = /git-(upload-pack|receive-pack)$/.exec(url.searchParams.get("service") ?? url.pathname) ?? []
  if (service === undefined) return response.writeHead(404).end()
  const isAdvertisement = request.method === "GET"
  const kind = isAdvertisement ? "advertisement" : "result"
  response.setHeader("content-type", `application/x-git-${service}-${kind}`)
  if (isAdvertisement) {
    const title = `# service=git-${service}\n`
    response.write(`${(title.length + 4).toString(16).padStart(4, "0")}${title}0000`)
  }
  const child = spawn("git", [service, "--stateless-rpc", ...(isAdvertisement ? ["--advertise-refs"] : []), bare], {
    env: { ...process.env, GIT_PROTOCOL: request.headers["git-protocol"] ?? "" },
    stdio: ["pipe", "pipe", "ignore"]
  })
  const body = request.headers["content-encoding"] === "gzip" ? request.pipe(createGunzip()) : request
  body.pipe(child.stdin)
  child.stdout.pipe(response)
  child.on("close", then)
}

/** Runs the tests of a commit, with the one of the CI. */
const runTests = (bare, sha) =>
  new Promise((resolve) => {
    const checkout = mkdtempSync(join(tmpdir(), "reins-demo-ci-"))
    execFileSync("git", ["clone", "--quiet", "--no-checkout", bare, checkout])
    execFileSync("git", ["checkout", "--quiet", "--detach", sha], { cwd: checkout })
    addCiTest(checkout)
    const child = spawn(process.execPath, ["--test"], {
      cwd: checkout,
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
      stdio: ["ignore", "pipe", "pipe"]
    })
    const output = []
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk))
    child.on("close", (code) => {
      rmSync(checkout, { recursive: true, force: true })
      resolve({ passed: code === 0, log: Buffer.concat(output).toString() })
    })
  })

/** The forge of the bare repository at `bare`. `callHook` tells it where to send its news, and with which secret it signs them. */
export const startForge = async (bare) => {
  const token = randomUUID()
  const runs = []
  const pulls = []
  const comments = []
  let hook

  const git = (...args) =>
    execFileSync("git", ["-c", "user.name=Forge", "-c", "user.email=forge@localhost", ...args], {
      cwd: bare,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"]
    }).trim()
  const headOf = (branch) => git("rev-parse", `refs/heads/${branch}`)
  const branches = () =>
    new Map(
      git("for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads")
        .split("\n")
        .map((row) => row.split(" "))
    )
  let known = branches()

  const tell = (event, news) => {
    if (hook === undefined) return
    const body = JSON.stringify({ ...news, repository: { full_name: name } })
    const signature = createHmac("sha256", hook.secret).update(body).digest("hex")
    const headers = { "x-gitea-event": event, "x-gitea-delivery": randomUUID(), "x-gitea-signature": signature }
    const call = { method: "POST", body, headers: { ...headers, "content-type": "application/json" } }
    fetch(hook.url, call).catch(() => {})
  }

  const check = async (sha) => {
    const run = { id: runs.length + 1, sha, state: "pending", log: "", at: clock() }
    runs.push(run)
    tell("status", { context: "test", sha, state: run.state })
    const { log, passed } = await runTests(bare, sha)
    Object.assign(run, { state: passed ? "success" : "failure", log, at: clock() })
    tell("status", { context: "test", sha, state: run.state })
  }

  const pushed = () => {
    const now = branches()
    const moved = [...now].filter(([branch, sha]) => known.get(branch) !== sha)
    known = now
    for (const [, sha] of moved) check(sha)
  }

  const shown = (pull) => ({
    number: pull.number,
    html_url: `${url}/${name}/pulls/${pull.number}`,
    state: pull.merged === undefined ? "open" : "closed",
    merged: pull.merged !== undefined,
    mergeable: true,
    draft: false,
    title: pull.title,
    body: pull.body,
    head: { ref: pull.head, sha: pull.merged ?? headOf(pull.head), repo_id: 1 },
    base: { ref: pull.base, repo_id: 1 }
  })
  const statusOf = ({ at, id, state }) => {
    const target_url = `${url}/${name}/actions/runs/${id}/jobs/${id}`
    return { id, context: "test", status: state, target_url, created_at: at, updated_at: at }
  }
  const merge = (pull, { head_commit_id: head }) => {
    if (headOf(pull.head) !== head) return [409, { message: "head out of date" }]
    const base = headOf(pull.base)
    const words = `Merge request #${pull.number}: ${pull.title}`
    const commit = git("commit-tree", "-p", base, "-p", head, "-m", words, `${head}^{tree}`)
    git("update-ref", `refs/heads/${pull.base}`, commit, base)
    known = branches()
    pull.merged = head
    return [200]
  }
  const comment = ({ body }) => {
    const made = { id: comments.length + 1, user: { login: "you" }, body, created_at: clock(), html_url: "" }
    comments.push(made)
    return made
  }

  const root = `/repos/${name}`
  const routes = [
    ["GET /user", () => [200, { id: 1, login: "you" }]],
    [`GET ${root}/branches/main`, () => [200, { commit: { id: headOf("main") }, enable_status_check: false }]],
    [`GET ${root}/pulls`, () => [200, pulls.filter(({ merged }) => merged === undefined).map(shown)]],
    [
      `POST ${root}/pulls`,
      (_, { base, body, head, title }) => {
        const pull = { number: pulls.length + 1, base, body, head, title, merged: undefined }
        pulls.push(pull)
        return [201, shown(pull)]
      }
    ],
    [`GET ${root}/pulls/:id`, (id) => [200, shown(pulls[id - 1])]],
    [`POST ${root}/pulls/:id/merge`, (id, body) => merge(pulls[id - 1], body)],
    [`GET ${root}/pulls/:id/reviews`, () => [200, []]],
    [`GET ${root}/commits/:id/statuses`, (sha) => [200, runs.filter((run) => run.sha === sha).map(statusOf)]],
    [`GET ${root}/actions/jobs/:id/logs`, (id) => [200, runs[id - 1].log]],
    [`GET ${root}/issues/:id/comments`, () => [200, comments]],
    [`POST ${root}/issues/:id/comments`, (_, body) => [201, comment(body)]]
  ].map(([call, answer]) => ({ pattern: new RegExp(`^${call.replace(":id", "(\\w+)")}$`), answer }))

  const answerApi = async (request, response, path) => {
    const body = Buffer.concat(await request.toArray())
    const [status, answer] =
      request.headers.authorization === `token ${token}`
        ? (routes
            .map(({ answer, pattern }) => ({ answer, match: pattern.exec(`${request.method} ${path}`) }))
            .filter(({ match }) => match !== null)
            .map(({ answer, match }) => answer(match[1], body.length > 0 ? JSON.parse(body) : {}))[0] ?? [404, {}])
        : [401, { message: "a token is needed" }]
    const isText = typeof answer === "string"
    response.writeHead(status, { "content-type": isText ? "text/plain" : "application/json" })
    response.end(isText ? answer : JSON.stringify(answer ?? {}))
  }

  const server = createServer((request, response) => {
    const at = new URL(request.url, "http://forge")
    if (at.pathname.startsWith("/api/v1/"))
      return void answerApi(request, response, at.pathname.slice("/api/v1".length))
    const isPush = `${at.searchParams.get("service")}${at.pathname}`.includes("receive-pack")
    const given = Buffer.from(request.headers.authorization?.replace(/^Basic /, "") ?? "", "base64").toString()
    if (isPush && !given.endsWith(`:${token}`))
      return void response.writeHead(401, { "www-authenticate": 'Basic realm="forge"' }).end()
    serveGit(bare, request, response, at, () => isPush && request.method === "POST" && pushed())
  })
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${server.address().port}`
  return {
    url,
    token,
    repository: `${url}/${name}.git`,
    callHook: (called) => {
      hook = called
    },
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}
