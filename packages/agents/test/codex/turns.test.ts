import { textOf } from '@reply/core'
import type { LocalRun } from '@reply/core/source'
import { expect, test } from 'vitest'
import type { CodexEvent } from '../../src/codex/decode/notification.ts'
import { createRunWriter } from '../../src/codex/run-writer.ts'
import { createTurns, type Turns } from '../../src/codex/turns.ts'
import { runRecorded } from '../replay.ts'

/** The session of `runRecorded`. */
const recordedSession = 'ses_recorded'

/** Codex's own turn `own` has begun. It is shown in the run of the prompt, which is sent then. */
async function prompted(play: (turns: Turns, run: LocalRun) => void) {
  return await runRecorded((run) => {
    const turns = createTurns(
      createRunWriter(() => 0),
      () => true,
      () => run,
    )
    write(turns, 'own', { type: 'turn' })
    turns.expectTurn(run)
    play(turns, run)
  })
}

type Written = CodexEvent extends infer Event
  ? Event extends CodexEvent
    ? Omit<Event, 'threadID' | 'turnID'>
    : never
  : never

function write(turns: Turns, turnID: string, ...events: readonly Written[]): void {
  for (const event of events) turns.write({ threadID: recordedSession, turnID, ...event }, undefined)
}

const say = (delta: string): Written => ({ type: 'delta', kind: 'text', partID: delta, delta })
const end: Written = { type: 'end', ending: { type: 'completed' } }

test("the end of Codex's own turn does not end the run of a prompt whose turn follows", async () => {
  const reply = await prompted((turns, run) => {
    write(turns, 'own', say('Own.'), end)
    turns.promptTaken(run, 'next')
    write(turns, 'next', { type: 'turn' }, say('The answer.'), end)
  })
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Own.\n\nThe answer.'])
})

test('a turn is told to stop once, until it ends', async () => {
  await prompted((turns, run) => {
    turns.setStopping('own', true)
    expect([turns.isStopping('own'), turns.isStopping('next')]).toEqual([true, false])
    write(turns, 'own', end)
    turns.setStopping('own', true)
    expect(turns.isStopping('own')).toBe(false)
    run.end({ type: 'completed' })
  })
})

test("Codex's own turn that ends after the response leaves the prompt's run to its turn", async () => {
  const reply = await prompted((turns, run) => {
    turns.promptTaken(run, 'next')
    write(turns, 'own', say('Own.'), end)
    write(turns, 'next', { type: 'turn' }, say('The answer.'), end)
  })
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Own.\n\nThe answer.'])
})

test("Codex's own turn that takes the prompt goes on in its run, and ends it", async () => {
  const reply = await prompted((turns, run) => {
    write(turns, 'own', say('Own.'))
    turns.promptTaken(run, 'own')
    const text = 'Go on.'
    write(turns, 'own', { type: 'prompt', messageID: 'm', clientID: run.promptID, text }, say('The answer.'), end)
  })
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Own.\n\nThe answer.'])
})

test("Codex's own turn that takes another run's prompt ends that run alone", async () => {
  const reply = await prompted((turns, run) => {
    const other = run.child({ background: true })
    write(turns, 'own', say('Own.'))
    turns.promptTaken(other, 'own')
    const text = 'Go on.'
    write(
      turns,
      'own',
      { type: 'prompt', messageID: 'm', clientID: other.promptID, text },
      say('The other answer.'),
      end,
    )
    turns.promptTaken(run, 'next')
    write(turns, 'next', { type: 'turn' }, say('The answer.'), end)
  })
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Own.\n\nThe answer.'])
  expect(reply.children.map(({ reply: child }) => [child.outcome, textOf(child)])).toEqual([
    ['completed', 'The other answer.'],
  ])
})

/** A turn that one child shows takes the prompt of the other one. Resolves with the children's ends and texts. */
async function joined(play: (turns: Turns, run: LocalRun) => void) {
  const { children } = await prompted((turns, run) => {
    const [first, second] = [run.child({ background: true }), run.child({ background: true })]
    turns.promptTaken(first, 'next')
    write(turns, 'next', { type: 'turn' }, say('One.'))
    turns.expectTurn(second)
    play(turns, second)
    turns.promptTaken(second, 'next')
    run.end({ type: 'completed' })
  })
  return children.map(({ reply: { outcome, error }, reply }) => [outcome, error?.message ?? textOf(reply)])
}

test('a prompt that a turn reads before the response is handled goes on in its own run', async () => {
  const children = await joined((turns, { promptID: clientID }) => {
    write(turns, 'next', { type: 'prompt', messageID: 'm', clientID, text: 'Go on.' }, say('Two.'), end)
  })
  expect(children).toEqual([
    ['stopped', 'One.'],
    ['completed', 'Two.'],
  ])
})

test('a prompt whose turn ended before the response is handled fails if it was not read', async () => {
  expect(await joined((turns) => write(turns, 'next', end))).toEqual([
    ['completed', 'One.'],
    ['failed', 'Codex ended its turn before it read this prompt. Send it again.'],
  ])
})

test("another client's turn that takes a prompt before it was seen keeps its answer, and the prompt gets its own", async () => {
  const mine = await runRecorded((run) => {
    const theirs = run.child({ background: true })
    const turns = createTurns(
      createRunWriter(() => 0),
      () => true,
      () => theirs,
    )
    turns.expectTurn(run)
    const prompt = { type: 'prompt', messageID: 'm', text: 'Go.' } as const
    write(turns, 'turn', { type: 'turn' }, { ...prompt, clientID: theirs.promptID }, say('One.'))
    turns.promptTaken(run, 'turn')
    write(turns, 'turn', { ...prompt, clientID: run.promptID }, say('Two.'), end)
  })
  expect([mine.outcome, textOf(mine)]).toEqual(['completed', 'Two.'])
  expect(mine.children.map(({ reply }) => [reply.outcome, textOf(reply)])).toEqual([['stopped', 'One.']])
})

/** Plays turns that wake the session. Resolves with the causes, and the reply of the run of a prompt that is sent. */
async function woken(play: (turns: Turns, run: LocalRun) => void) {
  const causes: unknown[] = []
  const reply = await runRecorded((run) => {
    const turns = createTurns(
      createRunWriter(() => 0),
      () => true,
      (_, cause) => {
        causes.push(cause)
        return run.child({ background: true })
      },
    )
    play(turns, run)
  })
  return { causes, reply }
}

test('a turn that compacts before it tells of its prompt is that of the prompt', async () => {
  const { causes, reply } = await woken((turns, run) => {
    turns.setGoal(recordedSession, 'Reach it.')
    turns.expectTurn(run)
    write(turns, 'turn', { type: 'turn' }, { type: 'compaction' })
    turns.promptTaken(run, 'turn')
    const prompt = { type: 'prompt', messageID: 'm', clientID: run.promptID, text: 'Go.' } as const
    write(turns, 'turn', prompt, say('Done.'), end)
  })
  expect([causes, reply.outcome, textOf(reply)]).toEqual([[], 'completed', 'Done.'])
})

test('a turn that fails before it tells of its prompt fails the run of the prompt', async () => {
  const error = { name: 'CodexError', message: 'No access.', raw: undefined }
  const { causes, reply } = await woken((turns, run) => {
    turns.expectTurn(run)
    write(turns, 'turn', { type: 'turn' }, { type: 'end', ending: { type: 'failed', error } })
    turns.promptTaken(run, 'turn')
  })
  expect([causes, reply.error?.message]).toEqual([[], 'No access.'])
})

test("another client's turn that compacts first has that client's prompt", async () => {
  const { causes } = await woken((turns, run) => {
    const prompt = { type: 'prompt', messageID: 'm', clientID: 'theirs', text: 'Go.' } as const
    write(turns, 'turn', { type: 'turn' }, { type: 'compaction' }, prompt, say('Done.'), end)
    run.end({ type: 'completed' })
  })
  expect(causes).toEqual([{ parts: [{ type: 'text', text: 'Go.' }], messageID: 'theirs' }])
})

test("Codex's own turn that took a prompt before its response has no prompt of its own", async () => {
  const { causes, reply } = await woken((turns, run) => {
    turns.expectTurn(run)
    const prompt = { type: 'prompt', messageID: 'm', clientID: run.promptID, text: 'Go.' } as const
    write(turns, 'own', { type: 'turn' }, say('Own.'), prompt, say('Mine.'))
    turns.promptTaken(run, 'own')
    write(turns, 'own', end)
  })
  expect([causes, textOf(reply)]).toEqual([['Codex goes on by itself.'], 'Mine.'])
})

test('a turn without anything but its end is shown then', async () => {
  const { causes } = await woken((turns, run) => {
    write(turns, 'own', { type: 'turn' }, { type: 'retry', message: 'Busy.' })
    write(turns, 'own', end)
    run.end({ type: 'completed' })
  })
  expect(causes).toEqual(['Codex goes on by itself.'])
})

test('a sub-agent that writes to the threads above it leaves them where they are', async () => {
  const begun: (string | undefined)[] = []
  const reply = await runRecorded((prompted) => {
    const run: LocalRun = {
      ...prompted,
      child: (start) => {
        begun.push(start.sessionID)
        return prompted.child(start)
      },
    }
    const turns = createTurns(
      createRunWriter(() => 0),
      (threadID) => threadID === recordedSession,
      () => run,
    )
    const tell = (threadID: string, ...agentIDs: readonly string[]): void => {
      const task = { agentIDs, title: 'Do it.', text: 'Do it.' }
      const state = { status: 'running', input: {} } as const
      turns.write(
        { threadID, turnID: `${threadID} 1`, type: 'call', callID: threadID, tool: 'task', state, task },
        undefined,
      )
    }
    const begin = (threadID: string, turnID: string): void => turns.write({ threadID, turnID, type: 'turn' }, undefined)
    turns.continueTurn({ threadID: recordedSession, turnID: `${recordedSession} 1`, run })
    tell(recordedSession, 'a')
    begin('a', 'a 1')
    tell('a', 'b')
    begin('b', 'b 1')
    tell('b', 'a', 'b', recordedSession)
    turns.write({ threadID: 'a', turnID: 'a 1', ...end }, undefined)
    begin('a', 'a 2')
    for (const [threadID, turnID] of [
      ['b', 'b 1'],
      ['a', 'a 2'],
      [recordedSession, `${recordedSession} 1`],
    ] as const)
      turns.write({ threadID, turnID, ...end }, undefined)
  })
  // Both turns of the sub-agent, and none of the session itself.
  expect(begun).toEqual(['a', 'a'])
  expect(reply.outcome).toBe('completed')
})
