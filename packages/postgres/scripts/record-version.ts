// Records what a bridge sends to PostgreSQL, and the newest version of the tables, for bridges of later versions:
// `npx tsx --conditions=@reply/source packages/postgres/scripts/record-version.ts`
import { sharedPostgres } from '@reply/testing/internal'
import { addRecording } from '../test/versions/recorded-version.ts'

process.stdout.write(`${await addRecording(await (await sharedPostgres()).createDatabase())}\n`)
process.exit()
