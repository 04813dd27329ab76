// Records which rows the bridge can read, for the tests of later versions:
// `npx tsx --conditions=@reply/source packages/bridge/scripts/record-rows.ts`
import { writeFileSync } from 'node:fs'
import { currentRecording, releasedFile } from '../test/released-rows.ts'

writeFileSync(releasedFile, currentRecording())
