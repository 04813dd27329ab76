import type { Ask, Client } from '@reply/core'
import { askDigest } from '@reply/core/internal'
import type { LocalRun } from '@reply/core/source'
import { afterEach, describe, expect, test } from 'vitest'
import type { BridgeConfig } from '../src/config/schema.ts'
import type { BridgeEvent } from '../src/events/event.ts'
import type { PageAct } from '../src/state/page-action.ts'
import { texts } from '../src/texts.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer, touching } from './local-agent.ts'

const group = -100_500
const [ann, bob, cat, eve] = [
  { id: '1', name: 'Ann' },
  { id: '2', name: 'Bob' },
  { id: '3', name: 'Cat' },
  { id: '9', name: 'Eve' },
]
/** Ann may do all, Bob may prompt alone, Cat may approve. Eve is a stranger. */
const people: BridgeConfig['people'] = {
  ann: { ids: ['telegram:1'], may: ['prompt', 'approve', 'admin'] },
  bob: { ids: ['telegram:2'], may: ['prompt'] },
  cat: { ids: ['telegram:3'], may: ['approve'] },
}

let open: HandDriven
let runID = ''
/** What the agent was told. */
const answers: unknown[] = []
/** The ask as the newest reply has it. */
let asked: Ask | undefined
afterEach(async () => {
  await open.chats.close()
  answers.length = 0
  asked = undefined
})

function act(run: LocalRun, text: string): void {
  const reply = (given: unknown): void => {
    answers.push(given)
    setImmediate(() => answer(run, 'As you like.'))
  }
  if (text === 'colour')
    run.ask({
      ...{ type: 'question', requestID: 'que_1', reply },
      questions: [{ header: 'Colour', question: 'Which?', options: [], multiple: false, custom: true }],
    })
  else if (text === 'touch') {
    run.write(touching.call)
    run.ask({ ...touching.ask, reply })
  } else if (text === 'slowly') run.write({ type: 'text', delta: 'Working.' })
  else answer(run, `You said: ${text}.`)
}

/** Starts a bridge, and lets a person prompt it in the group. */
async function begin(text: string, from = ann): Promise<void> {
  const note = ({ ask }: { readonly ask: Ask }): void => {
    asked = ask
  }
  const changed = (opencode: Client): Client => {
    for (const type of ['permissionAsked', 'questionAsked', 'askChanged'] as const) opencode.on(type, note)
    return opencode
  }
  const noteRun = (event: BridgeEvent): void => {
    if (event.type === 'run') runID = event.executionID
  }
  open = await startHandDriven(act, {
    ...{ groups: [group], people, changed },
    observers: [noteRun],
  })
  open.telegram.say(group, `@fake_bot ${text}`, { from: { id: Number(from.id), name: from.name } })
}

const asks = async (): Promise<void> => void (await open.passes(() => asked !== undefined))
const shownAsk = () => ({ requestID: asked?.requestID ?? '', digest: asked ? askDigest(asked) : '' })

/** Acts on the page, and resolves with what the person is told. */
async function acts(
  actor: typeof ann,
  does: PageAct,
  run = runID,
  chat = { id: String(group) },
): Promise<string | undefined> {
  let told: { readonly text: string | undefined } | undefined
  void open.chats.actOnPage('telegram', { chat, actor, runID: run, act: does }).then((text) => {
    told = { text }
  })
  await open.passes(() => told !== undefined)
  if (!told) throw new Error('The page was not answered.')
  return told.text
}

const screen = (): string => open.said(group).join('\n')

describe('a permission', () => {
  test('is allowed on the page, once, and the chat names who did', async () => {
    await begin('touch')
    await asks()
    const allow = { type: 'answer', ask: shownAsk(), answer: 'once' } as const
    expect(await acts(cat, allow)).toBeUndefined()
    expect(answers).toEqual([{ type: 'once' }])
    await open.passes(() => screen().includes('As you like.'))
    expect(screen()).toContain('Cat')
    expect([texts.alreadyAnswered, texts.runOver]).toContain(await acts(ann, allow))
    expect(answers).toEqual([{ type: 'once' }])
  })

  test('is rejected on the page with words', async () => {
    await begin('touch')
    await asks()
    expect(await acts(ann, { type: 'reject', ask: shownAsk(), message: 'Not that.' })).toBeUndefined()
    expect(answers).toEqual([{ type: 'rejected', message: 'Not that.' }])
  })

  test.each([
    ['by a person without the right', bob, texts.mayNotAnswer],
    ['by a stranger', eve, texts.stranger('telegram:9')],
  ])('is not allowed %s', async (_, actor, why) => {
    await begin('touch')
    await asks()
    expect(await acts(actor, { type: 'answer', ask: shownAsk(), answer: 'once' })).toBe(why)
    expect(await acts(actor, { type: 'reject', ask: shownAsk() })).toBe(why)
    expect(answers).toEqual([])
  })

  test('is not allowed if it is another one than the page showed, or not offered', async () => {
    await begin('touch')
    await asks()
    const other = { ...shownAsk(), digest: 'another digest__' }
    expect(await acts(ann, { type: 'answer', ask: other, answer: 'once' })).toBe(texts.askChanged)
    expect(await acts(ann, { type: 'answer', ask: shownAsk(), answer: [['once']] })).toBe(texts.answerNotOffered)
    expect(await acts(ann, { type: 'answer', ask: { ...shownAsk(), requestID: 'per_2' }, answer: 'once' })).toBe(
      texts.alreadyAnswered,
    )
    expect(answers).toEqual([])
  })

  test('is only found in the run and the chat of the page', async () => {
    await begin('touch')
    await asks()
    const allow = { type: 'answer', ask: shownAsk(), answer: 'once' } as const
    expect(await acts(ann, allow, 'abcdef')).toBe(texts.runOver)
    expect(await acts(ann, allow, runID, { id: '1' })).toBe(texts.runOver)
    expect(answers).toEqual([])
  })
})

test('a question is answered on the page by who asked, and not by others without `approve`', async () => {
  await begin('colour', bob)
  await asks()
  expect(await acts(bob, { type: 'answer', ask: shownAsk(), answer: 'once' })).toBe(texts.answerNotOffered)
  expect(await acts(bob, { type: 'answer', ask: shownAsk(), answer: [['Red']] })).toBeUndefined()
  expect(answers).toEqual([{ type: 'answered', answers: [['Red']] }])
})

test('a run is stopped on the page by its author and by admins alone', async () => {
  await begin('slowly', bob)
  await open.passes(() => screen().includes('Working.'))
  expect(await acts(cat, { type: 'stop' })).toBe(texts.othersRun('Bob'))
  expect(await acts(eve, { type: 'stop' })).toBe(texts.stranger('telegram:9'))
  expect(await acts(bob, { type: 'stop' })).toBeUndefined()
  await open.passes(() => screen().includes('Aborted') || screen().includes('Stopped'))
  expect(await acts(ann, { type: 'stop' })).toBe(texts.runOver)
})
