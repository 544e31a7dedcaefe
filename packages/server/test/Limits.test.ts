import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it, layer } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { load } from "@reins/server/Config"
import { Effect } from "effect"
import { Caller, change, codeOf, send, service } from "./Service.js"
import { append, newSession } from "./Sessions.js"

const defaults = {
  message_characters: 100_000,
  json_body_bytes: 1024 * 1024,
  upload_bytes: 25 * 1024 * 1024,
  file_read_bytes: 10 * 1024 * 1024,
  diff_bytes: 1024 * 1024,
  diff_file_bytes: 512 * 1024,
  diff_files: 1000,
  executor_idle_minutes: 15,
  queued_turns_per_session: 20,
  turn_minutes: 60,
  delegation_depth: 3,
  live_delegations_per_session: 10,
  delegations_per_tree: 50,
  event_retention_days: null
}

const limits = Effect.gen(function* () {
  const { bearer: headers } = yield* Caller
  return (yield* send("GET", "/api/limits", { headers })).json
})

layer(service({ rateLimit: 600 }), { excludeTestServices: true })("without a setting", (it) => {
  it.effect("the limits are those of the contract", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* limits, { ...defaults, requests_per_minute: 600, streams_per_session: 8 })
    })
  )
})

const lower = {
  messageCharacters: 20,
  jsonBodyBytes: 2048,
  uploadBytes: 4096,
  fileReadBytes: 3,
  queuedTurns: 1,
  liveDelegations: 1,
  delegationDepth: 1,
  eventRetentionDays: 30
}

layer(service({ limits: lower, idleMinutes: 3, turnMinutes: 7 }), { excludeTestServices: true })(
  "with settings",
  (it) => {
    it.effect("the limits in force are told, those of the rate are off together", () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* limits, {
          ...defaults,
          message_characters: 20,
          json_body_bytes: 2048,
          upload_bytes: 4096,
          file_read_bytes: 3,
          queued_turns_per_session: 1,
          live_delegations_per_session: 1,
          delegation_depth: 1,
          event_retention_days: 30,
          executor_idle_minutes: 3,
          turn_minutes: 7,
          requests_per_minute: null,
          registrations_per_hour: null,
          streams_per_session: null
        })
      })
    )

    it.effect("what goes beyond them is refused, and what does not is not", () =>
      Effect.gen(function* () {
        const { bearer: headers } = yield* Caller
        const { sessionId } = yield* newSession
        const session = `/api/sessions/${sessionId}`
        const post = (path: string, body: unknown) =>
          Effect.map(change("POST", session + path, { headers, body }), (reply) => [reply.status, codeOf(reply)])
        assert.deepStrictEqual(yield* post("/messages", { content: "x".repeat(21) }), [413, "payload_too_large"])
        assert.deepStrictEqual(yield* post("/messages", { content: "x", y: "y".repeat(2048) }), [
          413,
          "payload_too_large"
        ])
        assert.deepStrictEqual(yield* post("/file-uploads", { path: "a", content: "x".repeat(4097) }), [
          413,
          "payload_too_large"
        ])
        assert.deepStrictEqual(yield* post("/file-uploads", { path: "a", content: "x".repeat(4096) }), [200, undefined])
        const read = yield* send("GET", `${session}/files/content?path=a`, { headers })
        assert.deepInclude(read.json, { content: "xxx", truncated: true, size: 4096 })
        const delegation = { role: "tester", instructions: "Test it." }
        assert.strictEqual((yield* post("/delegations", delegation))[0], 200)
        assert.deepStrictEqual(yield* post("/delegations", delegation), [409, "delegation_limit"])
        assert.strictEqual((yield* post("/messages", { content: "x".repeat(20) }))[0], 202)
        assert.deepStrictEqual(yield* post("/messages", { content: "x" }), [429, "quota_exhausted"])
      })
    )

    it.effect("events that are no longer kept are 410 for a page and for a stream", () =>
      Effect.gen(function* () {
        const { bearer } = yield* Caller
        const { run, sql } = yield* Database
        const { events, sessionId, watermark } = yield* newSession
        yield* append(sessionId, 5)
        const first = watermark + 4
        yield* run(sql`update sessions set first_event_seq = ${first} where id = ${sessionId}`)
        yield* run(sql`delete from events where session_id = ${sessionId} and seq < ${first}`)
        for (const accept of ["application/json", "text/event-stream"]) {
          const headers = { ...bearer, accept }
          for (const query of ["", `after=${first - 2}`]) {
            const reply = yield* send("GET", `${events}?${query}`, { headers })
            assert.deepStrictEqual([reply.status, codeOf(reply)], [410, "history_reset_required"])
            assert.nestedPropertyVal(reply.json, "error.details.next_after", first - 1)
          }
          const rest = yield* send("GET", `${events}?after=${first - 1}&max_seconds=0.5`, { headers })
          assert.strictEqual(rest.status, 200)
          assert.include(rest.text, `"seq":${first}`)
        }
        const resumed = { ...bearer, accept: "text/event-stream", "last-event-id": "1" }
        assert.strictEqual((yield* send("GET", events, { headers: resumed })).status, 410)
      })
    )
  }
)

it.scoped("every limit is a setting", () =>
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-limits-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    const environment = {
      REINS_IDLE_MINUTES: "5",
      REINS_TURN_MINUTES: "6",
      REINS_MESSAGE_CHARACTERS: "1000",
      REINS_JSON_BODY_BYTES: "2000",
      REINS_UPLOAD_BYTES: "3000",
      REINS_FILE_READ_BYTES: "4000",
      REINS_DIFF_BYTES: "5000",
      REINS_DIFF_FILE_BYTES: "6000",
      REINS_DIFF_FILES: "7",
      REINS_QUEUED_TURNS: "8",
      REINS_DELEGATION_DEPTH: "9",
      REINS_LIVE_DELEGATIONS: "10",
      REINS_TREE_DELEGATIONS: "20",
      REINS_DELEGATION_SECONDS: "600",
      REINS_ARTIFACT_BYTES: "2000",
      REINS_ARTIFACTS_PER_TURN: "2001",
      REINS_ARTIFACTS_PER_SESSION: "2002",
      REINS_TOOL_CALLS_PER_TURN: "2003",
      REINS_OPEN_TOOL_CALLS: "104",
      REINS_OFFERED_TOOLS: "105",
      REINS_TOOL_INPUT_CHARACTERS: "2007",
      REINS_TOOL_ANSWER_CHARACTERS: "2006",
      REINS_TOOL_ANSWER_IMAGES: "48",
      REINS_SERVER_ANSWER_BYTES: "2008",
      REINS_SERVERS_PER_VERSION: "49",
      REINS_SERVER_TOOLS_PER_VERSION: "209",
      REINS_REGISTRATIONS_PER_HOUR: "13",
      REINS_SESSIONS_PER_WORKSPACE: "14",
      REINS_WORKING_TREES_PER_WORKSPACE: "15",
      REINS_DISK_BYTES_PER_WORKSPACE: "2000000",
      REINS_STREAMS_PER_SESSION: "11",
      REINS_EVENT_RETENTION_DAYS: "12"
    }
    const config = yield* load({}, environment, directory)
    assert.deepInclude(config, {
      idleMinutes: 5,
      turnMinutes: 6,
      limits: {
        messageCharacters: 1000,
        jsonBodyBytes: 2000,
        uploadBytes: 3000,
        fileReadBytes: 4000,
        diffBytes: 5000,
        diffFileBytes: 6000,
        diffFiles: 7,
        queuedTurns: 8,
        delegationDepth: 9,
        liveDelegations: 10,
        treeDelegations: 20,
        delegationSeconds: 600,
        artifactBytes: 2000,
        artifactsPerTurn: 2001,
        artifactsPerSession: 2002,
        toolCallsPerTurn: 2003,
        openToolCalls: 104,
        offeredTools: 105,
        toolInputCharacters: 2007,
        toolAnswerCharacters: 2006,
        toolAnswerImages: 48,
        serverAnswerBytes: 2008,
        serversPerVersion: 49,
        serverToolsPerVersion: 209,
        registrationsPerHour: 13,
        sessionsPerWorkspace: 14,
        workingTreesPerWorkspace: 15,
        diskBytesPerWorkspace: 2_000_000,
        streamsPerSession: 11,
        eventRetentionDays: 12
      }
    })
    for (const name of Object.keys(environment)) {
      const { problem } = yield* Effect.flip(load({}, { [name]: "0" }, directory))
      assert.include(problem, name)
    }
  })
)
