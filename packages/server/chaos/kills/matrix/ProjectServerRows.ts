import { randomUUID } from "node:crypto"
import { processesWhere, shown } from "@reins/testing/executor/Processes"
import { authorizationServer } from "@reins/testing/mcp/AuthorizationServer"
import { mcpServer } from "@reins/testing/mcp/McpServer"
import { stdioServer } from "@reins/testing/mcp/StdioServer"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Exit, Scope } from "effect"
import { assert } from "vitest"
import { newName, newSession, script } from "../Scenes.js"
import type { Row } from "./Row.js"
import { holdsCalls, retried } from "./ToolRows.js"

/** The agent of a turn calls a tool of a server of its project. The service is killed before the agent has the answer. */
export const projectCallIsSentOnce = (sent: "before the kill" | "after the kill"): Row => ({
  rule: `a call of a server of a project, which is sent ${sent}, is never sent again by itself`,
  series: "tools",
  play: async (installation, crash) => {
    const scope = await Effect.runPromise(Scope.make())
    try {
      const lab = await Effect.runPromise(Scope.extend(mcpServer(), scope))
      const { projects, messages, turns, interactions } = installation.api
      const project = await projects.create({
        workspace_id: installation.workspaceId,
        slug: `lab-${randomUUID()}`,
        name: "Lab",
        spec: { tools: { mcp_servers: [{ name: "lab", url: lab.url, allow: ["get_issue"] }] } }
      })
      const { id: session_id } = await newSession(installation, { project_id: project.id })
      const work = script([{ tool: "lab_get_issue", args: { number: 7 } }, { say: "Done." }])
      const given = await crash(() => messages.send({ session_id, content: `Look it up. ${work}` }))
      const turn = await turns.get({ turn_id: given.turn_id ?? "" })
      assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"], JSON.stringify(turn))
      await holdsCalls(installation, turn.id, ["get_issue outcome_unknown"])
      const before = sent === "before the kill" ? 1 : 0
      assert.lengthOf(lab.calls, before)
      const again = await retried(installation, turn.id)
      assert.strictEqual(again.state, "succeeded", JSON.stringify(again))
      await holdsCalls(installation, again.id, ["get_issue succeeded"])
      // The model of the retry has called it anew.
      assert.lengthOf(lab.calls, before + 1)
      assert.deepStrictEqual((await interactions.list({ session_id })).items, [])
    } finally {
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
})

/** The agent of a turn calls a tool of a program that its project names, and the server is killed while the program runs. */
export const projectProgramEnds: Row = {
  rule: "a program of a project ends with the server, and the next call starts another one",
  series: "tools",
  play: async (installation, crash) => {
    const { messages, projects, turns } = installation.api
    const mark = randomUUID()
    const running = () => processesWhere((pid) => shown(pid, "environ").includes(`LAB_MODE=${mark}`))
    const project = await projects.create({
      workspace_id: installation.workspaceId,
      slug: `program-${mark}`,
      name: "Program",
      spec: {
        tools: {
          mcp_servers: [
            {
              name: "lab",
              command: [...stdioServer],
              environment: [{ name: "LAB_MODE", value: mark }],
              allow: ["get_issue"]
            }
          ]
        }
      }
    })
    const { id: session_id } = await newSession(installation, { project_id: project.id })
    const work = script([{ tool: "lab_get_issue", args: { number: 7 } }, { say: "Done." }])
    let before: ReadonlyArray<number> = []
    const given = await crash(async () => {
      const sent = messages.send({ session_id, content: `Look it up. ${work}` })
      await eventually("the program runs", () => {
        before = running()
        return before.length > 0
      })
      return await sent
    })
    const turn = await turns.get({ turn_id: given.turn_id ?? "" })
    assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"], JSON.stringify(turn))
    await holdsCalls(installation, turn.id, ["get_issue outcome_unknown"])
    await eventually("the program has ended", () => !running().some((pid) => before.includes(pid)))
    const again = await retried(installation, turn.id)
    assert.strictEqual(again.state, "succeeded", JSON.stringify(again))
    await holdsCalls(installation, again.id, ["get_issue succeeded"])
  }
}

/**
 * A server of a project refuses the token of the service, which is killed while it has another one made. The server refuses either a call, or the look
 * at the beginning of a turn, whose agent was asked nothing then.
 */
export const refreshTokenIsUsedOnce = (
  kept: "before the kill" | "never",
  refuses: "a call" | "the look of a turn"
): Row => ({
  rule:
    kept === "never"
      ? `a refresh token whose answer died with the server, for ${refuses}, is sent once more, and then a person is asked for another one`
      : `a refresh token that was kept before the kill, for ${refuses}, is the one that the next server sends`,
  series: "tools",
  play: async (installation, crash) => {
    const scope = await Effect.runPromise(Scope.make())
    try {
      const { connections, messages, projects, turns } = installation.api
      const { workspaceId: workspace_id } = installation
      const issuer = await Effect.runPromise(Scope.extend(authorizationServer("word"), scope))
      const lab = await Effect.runPromise(Scope.extend(mcpServer(issuer.good), scope))
      lab.authorization = [issuer.url]
      const label = newName("lab")
      const credential = () => ({ server_url: lab.url, client_id: "reins", refresh_token: issuer.refreshToken })
      const { id: connection_id } = await connections.create({
        workspace_id,
        kind: "mcp_oauth",
        label,
        credential: credential()
      })
      const project = await projects.create({
        workspace_id,
        slug: `lab-${randomUUID()}`,
        name: "Lab",
        spec: { tools: { mcp_servers: [{ name: "lab", url: lab.url, connection_id, allow: ["get_issue"] }] } }
      })
      const isReached = async () =>
        (await projects.checkServers({ project_id: project.id })).servers[0]?.state === "reached"
      await installation.until(isReached, "the server of the project to be reached")
      const { id: session_id } = await newSession(installation, { project_id: project.id })
      const content = () => `Look. ${script([{ tool: "lab_get_issue", args: { number: 7 } }, { say: "Done." }])}`
      const first = await installation.api.run({ session_id, content: content() }).final()
      await holdsCalls(installation, first.turn.id, ["get_issue succeeded"])
      const before = issuer.forms.length
      const sent = await crash(async () => {
        await installation.until(isReached, "the server of the project to be looked at")
        if (refuses === "a call") lab.onList = () => issuer.good.clear()
        else issuer.good.clear()
        return messages.send({ session_id, content: content() })
      })
      const turn = await turns.get({ turn_id: sent.turn_id ?? "" })
      if (refuses === "a call") {
        assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"], JSON.stringify(turn))
        await holdsCalls(installation, turn.id, ["get_issue outcome_unknown"])
        const again = await retried(installation, turn.id)
        assert.strictEqual(again.state, "succeeded", JSON.stringify(again))
      } else {
        assert.deepStrictEqual([turn.state, turn.reason], ["succeeded", null], JSON.stringify(turn))
        await holdsCalls(installation, turn.id, [kept === "never" ? "get_issue failed" : "get_issue succeeded"])
      }
      const health = async () => (await connections.get({ connection_id })).health
      if (kept === "never") {
        await installation.until(async () => (await health()) === "reauth_required", "the connection to want another")
        assert.lengthOf(lab.calls, 1)
        await connections.replaceCredential({ connection_id, credential: credential() })
        await installation.until(isReached, "the server of the project to be reached again")
      }
      const last = await installation.api.run({ session_id, content: content() }).final()
      await holdsCalls(installation, last.turn.id, ["get_issue succeeded"])
      assert.strictEqual(await health(), "ready")
      const forms = issuer.forms.slice(before).map((form) => form.get("refresh_token"))
      assert.lengthOf(forms, kept === "never" ? 3 : 2, forms.join(" "))
      assert.lengthOf(new Set(forms), 2)
    } finally {
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
})
