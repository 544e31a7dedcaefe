// The bare server. It does the work of the measured requests with node:http and better-sqlite3 alone, with the same durability and a commit for
// each write, and so shows the limit of the machine. It joins a page from the stored text of the events, which is the least that a page can
// cost.
import { createHash, randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { join } from "node:path"
import { openSqlite } from "@reins/core/internal/store/SqliteDriver"

const [dataDir = "."] = process.argv.slice(2)
const db = openSqlite(join(dataDir, "baseline.db"))
db.pragma("journal_mode = wal")
db.pragma("synchronous = full")
db.exec(`
  create table keys (hash text primary key, account text not null);
  create table sessions (
    id text primary key, workspace text not null, title text, labels text not null, watermark integer not null, created_at text not null
  );
  create table messages (id text primary key, session_id text not null, content text not null, created_at text not null);
  create table events (session_id text not null, seq integer not null, envelope text not null, primary key (session_id, seq));
  create table calls (id text primary key, input text not null, answer text);
  create table idempotency (scope text not null, key text not null, fingerprint text not null, status integer not null, body text, primary key (scope, key));
`)
const hash = (text) => createHash("sha256").update(text).digest("hex")
db.prepare("insert into keys values (?, ?)").run(hash("baseline-key"), "account")

const findKey = db.prepare("select account from keys where hash = ?")
const findSession = db.prepare("select * from sessions where id = ?")
const findAnswer = db.prepare("select fingerprint, status, body from idempotency where scope = ? and key = ?")
const addSession = db.prepare("insert into sessions values (?, ?, ?, ?, 1, ?)")
const addMessage = db.prepare("insert into messages values (?, ?, ?, ?)")
const nextEvent = db.prepare("update sessions set watermark = watermark + 1 where id = ? returning watermark")
const findEvents = db
  .prepare("select envelope from events where session_id = ? and seq > ? order by seq limit 100")
  .pluck()
const addEvent = db.prepare("insert into events values (?, ?, ?)")
const addAnswer = db.prepare("insert into idempotency values (?, ?, ?, ?, ?)")

const openCall = db.prepare("insert into calls values (?, ?, null)")
const endCall = db.prepare("update calls set answer = ? where id = ?")

/** A call of a tool over JSON-RPC, which is written down before it runs and at its end. */
const call = ({ id, params }) => {
  const row = randomUUID()
  openCall.run(row, JSON.stringify(params))
  const text = JSON.stringify({ pending: true, delegations: [] })
  endCall.run(text, row)
  return JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } })
}

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

const send = db.transaction((account, key, fingerprint, input, sessionId) => {
  const message = {
    id: randomUUID(),
    session_id: sessionId,
    content: input.content,
    created_at: new Date().toISOString()
  }
  addMessage.run(message.id, message.session_id, message.content, message.created_at)
  const { watermark } = nextEvent.get(sessionId)
  addEvent.run(sessionId, watermark, JSON.stringify({ type: "message.accepted", seq: watermark, payload: message }))
  const body = JSON.stringify({ message, event_watermark: watermark })
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
  const [, , id, of] = request.url.split("?", 1)[0].split("/")
  if (request.method === "GET") {
    const session = findSession.get(id)
    if (session !== undefined && of === "events") {
      const after = Number(new URL(request.url, "http://bench").searchParams.get("after"))
      return answer(response, 200, `{"items":[${findEvents.all(id, after).join(",")}]}`)
    }
    return session === undefined
      ? answer(response, 404, "{}")
      : answer(response, 200, JSON.stringify({ ...session, labels: JSON.parse(session.labels) }))
  }
  const chunks = []
  request.on("data", (chunk) => chunks.push(chunk))
  request.on("end", () => {
    const text = Buffer.concat(chunks).toString()
    if (of === "calls") return answer(response, 200, call(JSON.parse(text)))
    const key = request.headers["idempotency-key"]
    const fingerprint = hash(`${request.method}\n${request.url}\n${text}`)
    const stored = findAnswer.get(owner.account, key)
    const write = of === "messages" ? send : create
    answer(
      response,
      201,
      stored === undefined ? write.immediate(owner.account, key, fingerprint, JSON.parse(text), id) : stored.body
    )
  })
})
server.listen(0, "127.0.0.1", () =>
  console.log(JSON.stringify({ event: "ready", url: `http://127.0.0.1:${server.address().port}` }))
)
