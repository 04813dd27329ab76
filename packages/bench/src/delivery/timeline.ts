import { isShownText, partsOf, type Reply, replay } from '@reply/core'
import { readRecording } from '@reply/testing'

/** A recorded reply as it comes: its states, each after so long. */
export interface Timeline {
  readonly name: string
  readonly states: readonly { readonly atMs: number; readonly reply: Reply }[]
  /** All that the assistant says, as it grows: what other libraries are given. */
  readonly texts: readonly { readonly atMs: number; readonly text: string }[]
}

/** The tokens of a fast model: so many states a second. */
const perSecond = 25

/** The last reply of a recording, one state after another at an even pace, as recordings keep no times. */
export async function timelineOf(scenario: string, most: number): Promise<Timeline> {
  const all: Reply[] = []
  const note = ({ reply }: { readonly reply: Reply }): void => {
    if (all.at(-1) !== reply) all.push(reply)
  }
  const observer = { partAdded: note, partChanged: note, partFinalized: note, toolProgressed: note, replySettled: note, phaseChanged: note }
  await replay(readRecording({ version: '1.18.33', scenario }).bytes, {
    observe: () => {
      all.length = 0
      return [observer]
    },
  })
  const every = Math.max(1, Math.ceil(all.length / most))
  const kept = all.filter((_, index) => index % every === 0 || index === all.length - 1)
  const states = kept.map((reply, index) => ({ atMs: Math.round((index * 1000) / perSecond), reply }))
  const texts = states.map(({ atMs, reply }) => ({ atMs, text: textSoFar(reply) }))
  return { name: scenario, states, texts }
}

function textSoFar(reply: Reply): string {
  return partsOf(reply)
    .filter(isShownText)
    .map((part) => part.text)
    .join('\n\n')
}
