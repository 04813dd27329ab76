import { textOf } from '../../../src/index.ts'
import { outcomes } from '../../second/outcomes.ts'
import type { Told } from '../../second/recorded.ts'
import { ourMessage, toldMessage, toldMessages, toldText } from '../../second/truth.ts'
import { allReplies, repliesIn } from '../../truth.ts'
import { unlike } from './compare.ts'
import type { MatrixRun } from './play.ts'

export function secondOutcomeOf(scenario: string): string | undefined {
  return outcomes[scenario]
}

/** Compares every step and text with what a server of OpenCode 2 has. */
export function asServedBySecond({ watched, ...run }: MatrixRun): string[] {
  const sessions = run.sessions as unknown as readonly Told[]
  const frames = run.frames.map(({ type, properties: data }, at) => ({ id: String(at), type, data }))
  const all = allReplies(watched.map(({ reply }) => reply))
  return sessions.flatMap((told) => {
    const own = repliesIn(all, told.id)
    const ours = own.flatMap((reply) => reply.messages.map((message) => ({ message, reply })))
    const theirs = toldMessages(told)
    if (ours.length !== theirs.length) return [`${ours.length} messages in ${told.id}, the server has ${theirs.length}`]
    const messages = ours.flatMap(({ message, reply }, at) =>
      unlike(ourMessage(message), toldMessage(theirs[at] ?? {}, { reply, frames, isRead: true }), 'message'),
    )
    const text = own.map(textOf).filter((words) => words !== '')
    return [...messages, ...unlike(text.join('\n\n'), toldText(told, frames), 'text')]
  })
}
