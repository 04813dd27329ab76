import { isShownText, type Part, partsOf, type Reply, replay } from '@reply/core'
import { readRecording } from '@reply/testing'

/** A recorded reply as it comes: its states, each after so long. */
export interface Timeline {
  readonly name: string
  readonly states: readonly { readonly atMs: number; readonly reply: Reply }[]
  /** All that the assistant says, as it grows: what other libraries are given. */
  readonly texts: readonly { readonly atMs: number; readonly text: string }[]
}

/** A fast model's pace: so many pieces a second, of so many UTF-16 units. Recordings keep no times. */
const perSecond = 25
const pieceUnits = 24

/** The last reply of a recording, at an even pace; text that the scripted model gave at once comes in pieces, too. */
export async function timelineOf(scenario: string): Promise<Timeline> {
  const all: Reply[] = []
  const note = ({ reply }: { readonly reply: Reply }): void => {
    if (all.at(-1) !== reply) all.push(reply)
  }
  const methods = { partAdded: note, partChanged: note, partFinalized: note, toolProgressed: note }
  await replay(readRecording({ version: '1.18.33', scenario }).bytes, {
    observe: () => {
      all.length = 0
      return [{ ...methods, phaseChanged: note, replySettled: note }]
    },
  })
  const slow = all.flatMap((reply, index) => [...growing(all[index - 1], reply), reply])
  const states = slow.map((reply, index) => ({ atMs: Math.round((index * 1000) / perSecond), reply }))
  return { name: scenario, states, texts: states.map(({ atMs, reply }) => ({ atMs, text: textSoFar(reply) })) }
}

/** What lies between two states of which the second has more of a text. */
function growing(before: Reply | undefined, after: Reply): readonly Reply[] {
  const part = partsOf(after).findLast(isShownText)
  if (!part) return []
  const known = before && partsOf(before).find((other) => other.id === part.id)
  const from = known && 'text' in known ? known.text.length : 0
  const states: Reply[] = []
  for (let to = from + pieceUnits; to < part.text.length; to += pieceUnits)
    states.push(withText(after, { ...part, status: 'open', text: part.text.slice(0, to) }))
  return states
}

function withText(reply: Reply, part: Part): Reply {
  const messages = reply.messages.map((message) => ({
    ...message,
    parts: message.parts.map((other) => (other.id === part.id ? part : other)),
  }))
  return { ...reply, messages, phase: reply.phase === 'settled' ? 'working' : reply.phase, outcome: undefined }
}

function textSoFar(reply: Reply): string {
  return partsOf(reply)
    .flatMap((part) => (isShownText(part) ? [part.text] : []))
    .join('\n\n')
}
