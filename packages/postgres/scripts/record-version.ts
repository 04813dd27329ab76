// Records the newest version of the tables, and what a bridge sends to them, for the bridges of later versions:
// `npx tsx packages/postgres/scripts/record-version.ts`
import { sharedPostgres } from '@reply/testing/internal'
import { migrations } from '../src/schema.ts'
import { recordNewest } from '../test/versions/recorded-version.ts'

const count = await recordNewest(await (await sharedPostgres()).createDatabase())
process.stdout.write(`version ${migrations.length}: ${count} calls\n`)
process.exit()
