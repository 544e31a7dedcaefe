import type { AccountId, WorkspaceId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { isSameServer } from "../grants/ServerUrl.js"
import { ConnectionStore } from "./ConnectionStore.js"

/** The name of the setting that makes a connection one of a single person. Logins alone write it: no credential of a request has it. */
export const ownerSetting = "account_id"

/** The account whose turns alone use a connection; undefined for one of the whole workspace. */
export const ownerOf = (settings: Readonly<Record<string, string>>): string | undefined => settings[ownerSetting]

/** Finds the active connection that a person has made for itself to a server of tools. */
export const personalConnections = Effect.map(
  ConnectionStore,
  ({ active }) =>
    (workspaceId: WorkspaceId, accountId: AccountId, url: string) =>
      Effect.map(active(workspaceId), (rows) =>
        rows.find(({ settings: text }) => {
          const settings: Readonly<Record<string, string>> = JSON.parse(text)
          return ownerOf(settings) === accountId && isSameServer(settings["server_url"] ?? "", url)
        })
      )
)
