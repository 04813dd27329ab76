import { createRecordedServer, listRecordings, type RecordingName, readRecording } from '@reply/testing'
import { isOpenCode2 } from '@reply/testing/internal'
import { describe, expect, test } from 'vitest'
import { type PostedPrompt, type Reply, replay, textOf, toolsOf } from '../../src/index.ts'
import { setStage } from '../drive/stage.ts'
import { createListener } from '../recorded/picture.ts'
import { recorded } from '../recorded.ts'
import { type Limit, unread } from './newest-run.ts'

const background = 'What background sub-agents did alone is read as part of a run.'
const joined = 'Over REST, prompts that one execution served look like runs of their own.'

/** What a resumed prompt can't show, with the reason, beyond what no read can. */
const unresumed: Readonly<Record<string, Limit>> = {
  ...unread,
  'killed-then-prompt': { until: 'never', reason: 'A server that is killed stores no text that was broken off.' },
  'abort-then-prompt': { until: '1.14', reason: 'Servers before 1.14 store no text that was broken off.' },
  'session-deleted': { until: 'never', reason: 'The session is gone.' },
  'subagent-background': { until: 'never', reason: background },
  'subagent-resumed': {
    until: '1.3',
    reason: 'Where a second call has just taken up a sub-agent of 1.2, a late client takes its run for the first.',
  },
}

/** The same on OpenCode 2. */
const unresumedSecond: Readonly<Record<string, string>> = {
  killed: 'A server that is killed stores no text that was broken off.',
  'killed-then-prompt': 'As in killed.',
  parked: joined,
  queue: joined,
  'queue-and-steer': joined,
  'queue-tool': joined,
  'queue-twice': joined,
  'second-prompt': joined,
  'compaction-manual': 'A compaction is at work as a run is.',
  revert: 'An execution that has yet to deliver its prompt reads as the run before it.',
  'revert-staged': 'As in revert.',
  'session-deleted': 'The session is gone.',
  stopped: 'The recording lacks what the server stored when it was stopped.',
  'stopped-then-prompt': 'As in stopped.',
  'subagent-background': background,
  'subagent-background-two': background,
  'subagent-moved': background,
}

/** A recorded prompt as the process that posted it had written it down, and the reply that has it in the end. */
interface Case {
  readonly posted: PostedPrompt
  readonly reply: Reply
}

/** Prompts are looked for by their ids, or by their texts as on servers that make the ids. */
type How = 'by id' | 'by text'

/** Resumes every prompt of these versions' recordings when all is over, and after every nth event before that. */
export function testResumed(version: string, { how, every }: { readonly how: How; readonly every: number }): void {
  const generation = isOpenCode2(version) ? 2 : 1
  const wanted = listRecordings({ generation }).filter(
    (each) => each.version === version && !isUnresumed(each) && each.scenario !== 'burst',
  )
  describe(`a prompt of an earlier process, found ${how}`, () => {
    test.each(wanted.map((each) => [`${version}/${each.scenario}`, each] as const))(
      'has the reply that it had, in %s',
      { timeout: 600_000 },
      async (_, recording) => {
        const { length } = createRecordedServer({ bytes: readRecording(recording).bytes, version })
        const problems: string[] = []
        for (const one of await casesOf(recording, how)) {
          for (let before = length; before > 0; before -= every) {
            const found = await problemsOf(recording, one, before)
            if (found !== 'absent' || before === length)
              problems.push(...[found].flat().map((problem) => `after ${before} of ${length}: ${problem}`))
          }
        }
        expect(problems).toEqual([])
      },
    )
  })
}

function isUnresumed({ version, scenario }: RecordingName): boolean {
  if (isOpenCode2(version)) return scenario in unresumedSecond
  const limit = unresumed[scenario]
  if (limit === undefined || limit.until === 'never') return limit !== undefined
  const [[, minor = 0], [, until = 0]] = [version.split('.').map(Number), limit.until.split('.').map(Number)]
  return minor < until
}

async function casesOf(recording: RecordingName, how: How): Promise<readonly Case[]> {
  const replies = await replay([readRecording(recording).bytes])
  return replies.flatMap((reply) =>
    reply.promptIDs.flatMap((messageID) => {
      const { sessionID } = reply
      if (how === 'by id') return [{ posted: { sessionID, messageID, at: 0 }, reply }]
      const posted = textCase(recording, { sessionID, messageID })
      return posted ? [{ posted, reply }] : []
    }),
  )
}

/** Undefined for messages that the server inserted. */
function textCase(
  { version, scenario }: RecordingName,
  { sessionID, messageID }: { readonly sessionID: string; readonly messageID: string },
): PostedPrompt | undefined {
  const tape = recorded.find((each) => each.name === `${version}/${scenario}`)?.read()
  const messages = tape?.sessions.find(({ id }) => id === sessionID)?.messages ?? []
  const at = messages.findIndex(({ info }) => info.id === messageID)
  const parts = messages[at]?.parts ?? []
  const isInserted = parts.every((part) => part.type === 'compaction' || (part.type === 'text' && part.synthetic))
  if (isInserted) return undefined
  const texts = parts.flatMap((part) => (part.type === 'text' && !part.synthetic ? [part.text] : []))
  return { sessionID, after: messages[at - 1]?.info.id, text: texts[0], at: 0 }
}

/** Resumes a prompt after so many events, and plays the rest. */
async function problemsOf(
  { scenario, version }: RecordingName,
  { posted, reply: wanted }: Case,
  before: number,
): Promise<'absent' | string[]> {
  const { server, opencode, rest, advance } = setStage({ scenario, version, before })
  await rest()
  const { heard, observer } = createListener()
  const resuming = opencode.resume(posted, { observe: () => [observer] }).catch(() => undefined)
  await rest()
  const resumed = await resuming
  if (resumed?.type !== 'found') {
    await opencode.close()
    return 'absent'
  }
  server.publish(server.length)
  await advance(60_000)
  const reply = resumed.stream.reply
  await opencode.close()
  const [ours, theirs] = [reply && pictureOf(reply), pictureOf(wanted)].map((picture) => JSON.stringify(picture))
  const isEqual = ours === theirs
  return [...heard.problems, ...(isEqual ? [] : [`it is ${ours}, not ${theirs}`])]
}

/** How a run was ended from outside is not stored: what was not seen to end is lost. */
function pictureOf(reply: Reply) {
  return {
    phase: reply.phase,
    outcome: reply.outcome === 'aborted' ? 'lost' : reply.outcome,
    text: textOf(reply),
    tools: toolsOf(reply).map(({ tool, state }) => [tool, state.status]),
    messages: reply.messages.map(({ id, finish, error }) => [id, finish, error?.name]),
    steps: reply.usage.steps,
    // A late client receives them in another order.
    children: reply.children
      .map((child) => [child.reply.sessionID, textOf(child.reply), child.reply.phase])
      .toSorted(([a = '', first = ''], [b = '', second = '']) => (`${a} ${first}` < `${b} ${second}` ? -1 : 1)),
  }
}
