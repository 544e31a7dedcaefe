import type { Bell, Database, DatabaseNewer } from "@reins/core/store/Storage"
import type { Layer } from "effect"

/** The database at a URL, with its schema up to date. */
export declare const layer: (url: string) => Layer.Layer<Database | Bell, DatabaseNewer>
