// A database of one's own is made with these: `Database.make` puts an `Engine` to work, `migrate` brings its schema up to date, and a `Bell`
// rings after each commit.
export { Bell } from "./Bell.js"
export { Database, type Engine } from "./Database.js"
export { DatabaseNewer, type Migration, type MigrationRefused, migrate, OlderAtWork, SchemaBusy } from "./Migrations.js"
export type { PreparedQuery, PreparedText, Query } from "./Query.js"
