import type { Event } from '@opencode-ai/sdk/v2'
import { comparableReply, isOpenCode2 } from '@reply/testing/internal'
import type { Reply } from '../../../src/index.ts'
import { textOf } from '../../../src/index.ts'
import { inOrderOfCalls, outcomesOf, tellOutcomes } from '../../outcomes.ts'
import type { Told } from '../../recorded.ts'
import {
  allReplies,
  lastTold,
  ourMessage,
  remembered,
  repliesIn,
  toldMessage,
  toldMessages,
  toldText,
} from '../../truth.ts'
import { asServedBySecond, secondOutcomeOf } from './compare-second.ts'
import type { MatrixRun, Observed } from './play.ts'

/** Problems of a run; empty if there are none. */
export function compare(version: string, scenario: string, run: MatrixRun): string[] {
  const { watched, prompted } = run
  const outcomes = tellOutcomes(inOrderOfCalls(watched.map(({ reply }) => reply)))
  const wanted = liveOutcomes(version, scenario)
  return [
    ...(outcomes === wanted ? [] : [`the outcomes are ${outcomes}, not ${wanted}`]),
    ...once('watch()', watched),
    ...once('prompt()', prompted),
    ...(isOpenCode2(version) ? asServedBySecond(run) : asServed(run)),
    ...alike(watched, prompted),
  ]
}

/** The live stream survives an instance's end; the recordings' stream doesn't. */
function liveOutcomes(version: string, scenario: string): string | undefined {
  if (isOpenCode2(version)) return secondOutcomeOf(scenario)
  return scenario === 'disposed' ? 'aborted' : outcomesOf(version, scenario)
}

function once(who: string, observed: readonly Observed[]): string[] {
  return observed.flatMap(({ ends }, index) => (ends === 1 ? [] : [`${who}: reply ${index} ended ${ends} times`]))
}

/** Compares every message, part, text and checklist with the server's. */
function asServed({ watched, ...run }: MatrixRun): string[] {
  const sessions = run.sessions as unknown as readonly Told[]
  const frames = run.frames as unknown as readonly Event[]
  const all = allReplies(watched.map(({ reply }) => reply))
  return sessions.flatMap((told) => {
    const own = repliesIn(all, told.id)
    const ours = own.flatMap((reply) => reply.messages.map((message) => ({ message, reply })))
    const theirs = toldMessages(told)
    if (ours.length !== theirs.length) return [`${ours.length} messages in ${told.id}, the server has ${theirs.length}`]
    const pairs = theirs.flatMap(({ head, parts }, index) => {
      const our = ours[index]
      if (!our) return []
      const whole = parts.map((part) => remembered(part, our.message, our.reply, frames))
      return [{ our, head, whole }]
    })
    const messages = pairs.flatMap(({ our, head, whole }) =>
      unlike(ourMessage(our.message), toldMessage(lastTold(head, our.reply, frames), whole), 'message'),
    )
    const todos = own.at(-1)?.todos.map(({ content, status, priority }) => ({ content, status, priority })) ?? []
    const text = own.map(textOf).filter((words) => words !== '')
    const served = pairs.map(({ whole }) => toldText(whole)).filter((words) => words !== '')
    return [
      ...messages,
      ...unlike(
        todos,
        told.todos.map(({ content, status, priority }) => ({ content, status, priority })),
        'todos',
      ),
      ...unlike(text.join('\n\n'), served.join('\n\n'), 'text'),
    ]
  })
}

/**
 * Each reply of `prompt()` must be one that `watch()` saw. The prompt's text may differ here, such as for a command. A
 * `noReply` prompt settles before the server sends its id, and watchers can't tell it from another.
 */
function alike(watched: readonly Observed[], prompted: readonly Observed[]): string[] {
  return prompted.flatMap(({ reply }) => {
    const wantsNoReply = reply.messages.length === 0 && reply.outcome === 'completed'
    if (wantsNoReply && reply.promptIDs.length === 0) return []
    const same = watched.find((other) => isSameRun(other.reply, reply))
    if (!same) return [`watch() saw nothing of the reply to ${JSON.stringify(reply.prompt?.text)}`]
    if (wantsNoReply && same.reply.promptIDs.includes(reply.promptIDs[0] ?? '')) return []
    // A watcher can't know that a prompt had `noReply`: to it, that prompt joined the next.
    // A new title reports no change, and may come after the end.
    const [mine, theirs] = [reply, same.reply].map((each) =>
      comparableReply({ ...each, title: undefined, prompt: undefined, promptIDs: each.promptIDs.slice(-1) }),
    )
    return unlike(mine, theirs, 'prompt() against watch()')
  })
}

function isSameRun(one: Reply, other: Reply): boolean {
  return one.sessionID === other.sessionID && one.promptIDs.some((id) => other.promptIDs.includes(id))
}

/** The first places where two values of plain data differ. */
export function unlike(mine: unknown, wanted: unknown, path: string): string[] {
  if (typeof mine !== 'object' || typeof wanted !== 'object' || mine === null || wanted === null) {
    return mine === wanted ? [] : [`${path} is ${JSON.stringify(mine)}, not ${JSON.stringify(wanted)}`]
  }
  const [ours, theirs] = [new Map(Object.entries(mine)), new Map(Object.entries(wanted))]
  const keys = [...new Set([...ours.keys(), ...theirs.keys()])]
  return keys.flatMap((key) => unlike(ours.get(key), theirs.get(key), `${path}.${key}`)).slice(0, 4)
}
