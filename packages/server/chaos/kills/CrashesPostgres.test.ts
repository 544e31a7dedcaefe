import { killedAtEach } from "./KilledServer.js"
import { onPostgres } from "./matrix/Matrix.js"

killedAtEach("PostgreSQL", onPostgres, 1)
