// The same work as the two measured requests, on bare node:http and better-sqlite3, with the same durability: what the machine gives.
import { createHash, randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { join } from "node:path"
import Database from "better-sqlite3"

const [dataDir = "."] = process.argv.slice(2)
const db = new Database(join(dataDir, "baseline.db"))
db.pragma("journal_mode = wal")
db.pragma("synchronous = full")
db.exec(`
  create table keys (hash text primary key, account text not null);
  create table sessions (id text primary key, workspace text not null, title text, labels text not null, created_at text not null);
  create table events (session_id text not null, seq integer not null, envelope text not null, primary key (session_id, seq));
  create table idempotency (scope text not null, key text not null, fingerprint text not null, status integer not null, body text, primary key (scope, key));
`)
const hash = (text) => createHash("sha256").update(text).digest("hex")
db.prepare("insert into keys values (?, ?)").run(hash("baseline-key"), "account")

const findKey = db.prepare("select account from keys where hash = ?")
const findSession = db.prepare("select * from sessions where id = ?")
const findAnswer = db.prepare("select fingerprint, status, body from idempotency where scope = ? and key = ?")
const addSession = db.prepare("insert into sessions values (?, ?, ?, ?, ?)")
const addEvent = db.prepare("insert into events values (?, ?, ?)")
const addAnswer = db.prepare("insert into idempotency values (?, ?, ?, ?, ?)")

const create = db.transaction((account, key, fingerprint, input) => {
  const session = {
    id: randomUUID(),
    workspace: account,
    title: input.title,
    labels: "{}",
    created_at: new Date().toISOString()
  }
  addSession.run(session.id, session.workspace, session.title, session.labels, session.created_at)
  addEvent.run(session.id, 1, JSON.stringify({ type: "session.created", seq: 1, payload: session }))
  const body = JSON.stringify(session)
  addAnswer.run(account, key, fingerprint, 201, body)
  return body
})

const answer = (response, status, body) => {
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
  response.end(body)
}

const server = createServer((request, response) => {
  const owner = findKey.get(hash((request.headers.authorization ?? "").slice(7)))
  if (owner === undefined) return answer(response, 401, "{}")
  if (request.method === "GET") {
    const session = findSession.get(request.url.slice("/sessions/".length))
    return session === undefined
      ? answer(response, 404, "{}")
      : answer(response, 200, JSON.stringify({ ...session, labels: JSON.parse(session.labels) }))
  }
  const chunks = []
  request.on("data", (chunk) => chunks.push(chunk))
  request.on("end", () => {
    const text = Buffer.concat(chunks).toString()
    const key = request.headers["idempotency-key"]
    const fingerprint = hash(`${request.method}\n${request.url}\n${text}`)
    const stored = findAnswer.get(owner.account, key)
    answer(
      response,
      201,
      stored === undefined ? create.immediate(owner.account, key, fingerprint, JSON.parse(text)) : stored.body
    )
  })
})
server.listen(0, "127.0.0.1", () =>
  console.log(JSON.stringify({ event: "ready", url: `http://127.0.0.1:${server.address().port}` }))
)
