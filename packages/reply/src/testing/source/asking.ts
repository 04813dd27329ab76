import type { Ask } from '../../ask.ts'
import { ReplyError } from '../../error.ts'
import { sessionRefOf } from '../../session-ref.ts'
import { inNewSession } from './acting.ts'
import { waitForAsk, waitForSettled } from './listen.ts'
import { check, hasPrompt, promptOf, rejection, type SourceDemand } from './stage.ts'

export const asking = [
  {
    name: 'lists a permission with its call, and allows it once',
    ...inNewSession(async (stage, listener, session) => {
      await stage.source.prompt(session, { text: promptOf(stage, 'permission') })
      const ask = await waitForAsk(listener, session)
      const { asks, isWhole } = await stage.source.asks(stage.directory)
      check(!isWhole || asks.some(({ requestID }) => requestID === ask.requestID), 'It is not listed.')
      check(ask.sessionID === session.sessionID, `It is of ${ask.sessionID}.`)
      await listener.until((received) => received.reply(session.sessionID)?.asks.find(hasCall))
      await stage.source.answer(ask, 'once')
      const reply = await waitForSettled(listener, session)
      check(reply.outcome === 'completed', `It ended as ${reply.outcome}.`)
      check(reply.asks[0]?.status === 'answered', `The ask is ${reply.asks[0]?.status}.`)
    }, hasPrompt('permission')),
  },
  {
    name: 'asks before it acts in a guarded session, or refuses it',
    ...inNewSession(
      async (stage, listener, session) => {
        const { source, directory } = stage
        const refused = await rejection(source.guard?.({ ...session }) ?? Promise.resolve())
        if (refused !== undefined) {
          check(refused instanceof ReplyError && refused.type === 'unguarded', `It failed as ${String(refused)}.`)
          return
        }
        const created = sessionRefOf(await source.create({ directory, guarded: true }))
        await source.prompt(created, { text: promptOf(stage, 'unasked') })
        const ask = await waitForAsk(listener, created)
        await source.reject(ask)
        await waitForSettled(listener, created)
      },
      (stage) => stage.source.guard !== undefined && hasPrompt('unasked')(stage),
    ),
  },
  {
    name: 'allows what a permission says is always allowed',
    ...inNewSession(async (stage, listener, session) => {
      const text = promptOf(stage, 'always')
      await stage.source.prompt(session, { text })
      await stage.source.answer(await waitForAsk(listener, session), 'always')
      const first = await waitForSettled(listener, session)
      check(first.outcome === 'completed', `The first run ended as ${first.outcome}.`)
      await stage.source.prompt(session, { text })
      const second = await listener.until((received) => {
        const reply = received.reply(session.sessionID)
        return reply?.phase === 'settled' && reply.promptIDs[0] !== first.promptIDs[0] ? reply : undefined
      })
      check(second.outcome === 'completed', `The second run ended as ${second.outcome}.`)
      check(second.asks.length === 0, 'It asks again.')
    }, hasPrompt('always')),
  },
  {
    name: 'lists what is always allowed, and takes it back',
    ...inNewSession(
      async (stage, listener, session) => {
        const { source } = stage
        const rules = async () => (await source.savedRules?.()) ?? []
        // Rules that an earlier clause left.
        for (const { id } of await rules()) await source.removeRule?.(id)
        const text = promptOf(stage, 'always')
        await source.prompt(session, { text })
        const ask = await waitForAsk(listener, session)
        await source.answer(ask, 'always')
        await waitForSettled(listener, session)
        const always = ask.type === 'permission' ? ask.always : []
        const saved = (await rules()).filter(({ pattern }) => always.includes(pattern))
        check(saved.length === always.length, `It lists ${JSON.stringify(await rules())}, not ${always.join(', ')}.`)
        for (const { id } of saved) await source.removeRule?.(id)
        check((await rules()).length === 0, `It still lists ${JSON.stringify(await rules())}.`)
        const error = await rejection(source.removeRule?.(saved[0]?.id ?? '') ?? Promise.resolve())
        check(error instanceof ReplyError && error.type === 'gone', `Removed again, it failed as ${String(error)}.`)
        await source.prompt(session, { text })
        const again = await listener.until((received) =>
          received
            .reply(session.sessionID)
            ?.asks.find(({ status, requestID }) => status === 'pending' && requestID !== ask.requestID),
        )
        await source.reject(again)
        await waitForSettled(listener, session)
      },
      (stage) => stage.source.savedRules !== undefined && hasPrompt('always')(stage),
    ),
  },
  {
    name: 'fails as gone for an ask that was answered',
    ...inNewSession(async (stage, listener, session) => {
      await stage.source.prompt(session, { text: promptOf(stage, 'permission') })
      const ask = await waitForAsk(listener, session)
      await stage.source.answer(ask, 'once')
      await waitForSettled(listener, session)
      for (const late of [() => stage.source.answer(ask, 'once'), () => stage.source.reject(ask)]) {
        const error = await rejection(late())
        check(error instanceof ReplyError && error.type === 'gone', `It failed as ${String(error)}.`)
      }
    }, hasPrompt('permission')),
  },
  {
    name: 'rejects a permission',
    ...inNewSession(async (stage, listener, session) => {
      await stage.source.prompt(session, { text: promptOf(stage, 'permission') })
      await stage.source.reject(await waitForAsk(listener, session))
      const { asks } = await waitForSettled(listener, session)
      check(asks[0]?.status === 'rejected', `The ask is ${asks[0]?.status}.`)
    }, hasPrompt('permission')),
  },
  {
    name: 'tells the agent why a permission is rejected',
    ...inNewSession(async (stage, listener, session) => {
      await stage.source.prompt(session, { text: promptOf(stage, 'permission') })
      await stage.source.reject(await waitForAsk(listener, session), 'Not in this folder.')
      const { messages } = await waitForSettled(listener, session)
      const errors = messages.flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === 'tool' ? (part.state.error ?? []) : [])),
      )
      check(
        errors.some((error) => error.includes('Not in this folder.')),
        `Its calls failed as ${errors.join(', ')}.`,
      )
    }, hasPrompt('permission')),
  },
  {
    name: 'answers a question',
    ...inNewSession(async (stage, listener, session) => {
      await stage.source.prompt(session, { text: promptOf(stage, 'question') })
      const ask = await waitForAsk(listener, session)
      check(ask.type === 'question', `It asks for a ${ask.type}.`)
      const option = ask.questions[0]?.options[0]?.label ?? ''
      check(option !== '', 'The question has no options.')
      await stage.source.answer(ask, [[option]])
      const { asks } = await waitForSettled(listener, session)
      check(asks[0]?.status === 'answered', `The ask is ${asks[0]?.status}.`)
    }, hasPrompt('question')),
  },
  {
    name: 'rejects a question',
    ...inNewSession(async (stage, listener, session) => {
      await stage.source.prompt(session, { text: promptOf(stage, 'question') })
      await stage.source.reject(await waitForAsk(listener, session))
      const { asks } = await waitForSettled(listener, session)
      check(asks[0]?.status === 'rejected', `The ask is ${asks[0]?.status}.`)
    }, hasPrompt('question')),
  },
  {
    name: 'does not send an answer whose signal has aborted',
    ...inNewSession(async (stage, listener, session) => {
      await stage.source.prompt(session, { text: promptOf(stage, 'permission') })
      const ask = await waitForAsk(listener, session)
      const error = await rejection(stage.source.answer(ask, 'once', AbortSignal.abort(new Error('Too late.'))))
      check(error instanceof Error, 'It was sent.')
      const { asks, isWhole } = await stage.source.asks(stage.directory)
      check(!isWhole || asks.some(({ requestID }) => requestID === ask.requestID), 'It is no longer pending.')
      await stage.source.reject(ask)
      await waitForSettled(listener, session)
    }, hasPrompt('permission')),
  },
  {
    name: "answers a sub-agent's permission, and lists the sub-agent as a child",
    ...inNewSession(async (stage, listener, session) => {
      await stage.source.prompt(session, { text: promptOf(stage, 'delegate') })
      const ask = await waitForAsk(listener, session)
      check(ask.sessionID !== session.sessionID, 'The ask is not the sub-agent’s.')
      const children = await stage.source.children(session)
      check(
        children.some((child) => child.sessionID === ask.sessionID),
        'The sub-agent is not listed.',
      )
      check(
        (await stage.source.session(sessionRefOf(ask))).parentID === session.sessionID,
        'The sub-agent has another parent.',
      )
      await stage.source.answer(ask, 'once')
      const reply = await waitForSettled(listener, session)
      check(reply.outcome === 'completed', `It ended as ${reply.outcome}.`)
    }, hasPrompt('delegate')),
  },
] as const satisfies readonly SourceDemand[]

/** Whether it is a permission whose call is known. */
function hasCall(ask: Ask): boolean {
  return ask.type === 'permission' && ask.call !== undefined
}
