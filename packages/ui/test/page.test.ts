import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { sendWhenAnswered, uiTextOf } from '../src/client.ts'

const step = { type: 'step-start' }
const call = (state: string, more: object = {}): { type: string } =>
  Object.assign({ type: 'dynamic-tool' }, { toolCallId: state, state, providerExecuted: true, ...more })
const question = (state: string, more: object = {}): { type: string } =>
  call(state, { providerExecuted: false, ...more })
const sends = (...parts: { type: string }[]): boolean => sendWhenAnswered({ messages: [{ role: 'assistant', parts }] })

describe('a page sends answers', () => {
  test('once all that the last step asks is answered', () => {
    expect(sends(step, call('approval-responded'))).toBe(true)
    expect(sends(step, call('approval-responded'), call('approval-requested'))).toBe(false)
    expect(sends(step, question('output-available', { output: [['Red']] }))).toBe(true)
    expect(sends(step, question('output-error'))).toBe(true)
    expect(sends(step, question('output-error'), question('input-available'))).toBe(false)
  })

  test('while a tool of the agent runs', () => {
    expect(sends(step, call('input-available'), call('approval-responded'))).toBe(true)
  })

  test('only if there are some, in the last step of a message of the assistant', () => {
    expect(sendWhenAnswered({ messages: [] })).toBe(false)
    expect(sends(step, call('output-available', { output: 'ok' }))).toBe(false)
    expect(sends(step, question('output-available', { output: 'The agent’s own.' }))).toBe(false)
    expect(sends(step, call('approval-responded'), step, { type: 'text' })).toBe(false)
    expect(sendWhenAnswered({ messages: [{ role: 'user', parts: [call('approval-responded')] }] })).toBe(false)
  })
})

test('the text of a message leaves out what was taken back, and joins what goes on', () => {
  const text = (said: string, reply?: object): { type: string } =>
    Object.assign({ type: 'text' }, { text: said, ...(reply && { providerMetadata: { reply } }) })
  const retracted = Object.assign({ type: 'data-retracted' }, { data: { parts: ['c'] } })
  const parts = [
    text('One', { part: 'a' }),
    text('Wrong', { part: 'b', retracted: true }),
    text('Also wrong', { part: 'c' }),
    text(' two', { part: 'a~2', continues: true }),
    retracted,
    text(' '),
    { type: 'reasoning' },
    text('Three'),
  ]
  expect(uiTextOf({ parts })).toBe('One two\n\nThree')
  expect(uiTextOf({ parts: [] })).toBe('')
})

test('what runs in the page imports nothing', async () => {
  expect(await readFile(new URL('../src/page.ts', import.meta.url), 'utf8')).not.toMatch(/\b(?:import|require)\b/)
  const entry = await readFile(new URL('../src/client.ts', import.meta.url), 'utf8')
  expect(entry.match(/from '[^']*'/g)).toEqual(["from './page.ts'"])
})
