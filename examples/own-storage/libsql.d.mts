import type { Bell } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import type { DatabaseNewer } from "@reins/core/store/Migrations"
import type { Layer } from "effect"

/** The database at a URL, with its schema up to date. */
export declare const layer: (url: string) => Layer.Layer<Database | Bell, DatabaseNewer>
