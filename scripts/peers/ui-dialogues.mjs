// Plays the dialogues of packages/ui on the AI SDK 7: node --conditions=@reply/source ui-dialogues.mjs <api> <control>
import * as sdk from 'ai'
import { playDialogues } from '../../packages/ui/test/dialogues.ts'

const [, , api = '', control = ''] = process.argv
process.stdout.write(JSON.stringify(await playDialogues(sdk, api, control)))
