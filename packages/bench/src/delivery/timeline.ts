import { isShownText, type Part, partsOf, type Reply, replay } from '@reply/core'
import { readRecording } from '@reply/testing'

/** A recorded reply over time: its states, each with its time. */
export interface Timeline {
  readonly name: string
  readonly states: readonly { readonly atMs: number; readonly reply: Reply }[]
  /** The assistant's whole text as it grows: the input of other libraries. */
  readonly texts: readonly { readonly atMs: number; readonly text: string }[]
}

/** A fast model's pace: pieces per second, and UTF-16 units per piece. Recordings keep no times. */
const perSecond = 25
const pieceUnits = 24

/**
 * Resolves with the last reply of a recording of 1.18.33, at an even pace. Splits text that the scripted model sent at
 * once.
 */
export async function recordedTimeline(scenario: string): Promise<Timeline> {
  const all: Reply[] = []
  /** Adds the reply, unless it is the last one that was added. */
  const keepIfNew = ({ reply }: { readonly reply: Reply }): void => {
    if (all.at(-1) !== reply) all.push(reply)
  }
  const methods = { partAdded: keepIfNew, partChanged: keepIfNew, partFinalized: keepIfNew, toolProgressed: keepIfNew }
  await replay(readRecording({ version: '1.18.33', scenario }).bytes, {
    observe: () => {
      all.length = 0
      return [{ ...methods, phaseChanged: keepIfNew, replySettled: keepIfNew }]
    },
  })
  const slow = all.flatMap((reply, index) => [...statesBetween(all[index - 1], reply), reply])
  const states = slow.map((reply, index) => ({ atMs: Math.round((index * 1000) / perSecond), reply }))
  return { name: scenario, states, texts: states.map(({ atMs, reply }) => ({ atMs, text: textSoFar(reply) })) }
}

/** Returns the states between two in which the last text grows piece by piece. None if it doesn't grow. */
function statesBetween(before: Reply | undefined, after: Reply): readonly Reply[] {
  const part = partsOf(after).findLast(isShownText)
  if (!part) return []
  const known = before && partsOf(before).find((other) => other.id === part.id)
  const from = known && 'text' in known ? known.text.length : 0
  const states: Reply[] = []
  for (let to = from + pieceUnits; to < part.text.length; to += pieceUnits)
    states.push(replacePart(after, { ...part, status: 'open', text: part.text.slice(0, to) }))
  return states
}

/** Returns the reply with another version of a part. A settled reply works again. */
function replacePart(reply: Reply, part: Part): Reply {
  const messages = reply.messages.map((message) => ({
    ...message,
    parts: message.parts.map((other) => (other.id === part.id ? part : other)),
  }))
  return { ...reply, messages, phase: reply.phase === 'settled' ? 'working' : reply.phase, outcome: undefined }
}

/** The shown texts of a reply, with an empty line between them. */
function textSoFar(reply: Reply): string {
  return partsOf(reply)
    .flatMap((part) => (isShownText(part) ? [part.text] : []))
    .join('\n\n')
}
