import { describe, expect, test } from 'vitest'
import { idle, message, reduced, root, running, session, settle, text, typesOf, user } from './make.ts'

const sealed = { status: 'sealed' } as const
const at = 1
const opened = { type: 'opened', at, sessionID: root, text: 'Do it' } as const
const limit = { type: 'context-limit', at, sessionID: root, contextLimit: 200_000 } as const
const lost = { type: 'connection', at, sessionID: root, connection: 'lost' } as const
const stalled = { type: 'stalled', at, sessionID: root, stalled: true } as const
const todos = [{ content: 'Look', status: 'pending' }]
const after = (...events: Parameters<typeof reduced>[0]) => reduced(events, reduced(running).reply)

describe('events outside of messages', () => {
  test("a session's title and directory are stored without a change event", () => {
    const { reply, changes } = after(session(root, { title: 'A title', directory: '/project' }))
    expect(reply).toMatchObject({ title: 'A title', directory: '/project' })
    expect(changes).toEqual([])
    expect(reduced([session(root)], reply).reply).toBe(reply)
  })

  test('an announced prompt stays until the server sends it', () => {
    const { reply, changes } = reduced([opened])
    expect(reply).toMatchObject({ phase: 'waiting', prompt: { text: 'Do it', parts: [] }, promptIDs: [] })
    expect(typesOf(changes)).toEqual(['replyStarted'])
    const told = reduced([user('u1'), text('u1', 'Do it now', sealed)], reply).reply
    expect(told).toMatchObject({ promptIDs: ['u1'], prompt: { text: 'Do it now' } })
  })

  test('a second announced prompt changes nothing', () => {
    const { reply } = reduced([opened])
    expect(reduced([{ ...opened, text: 'And this' }], reply).reply).toBe(reply)
  })

  test('an idle of the previous run does not end the announced one', () => {
    expect(reduced([opened, idle(), idle()]).reply.phase).toBe('waiting')
  })

  test('the context window is part of the usage', () => {
    const { reply, changes } = after(limit, limit)
    expect(reply.usage.contextLimit).toBe(200_000)
    expect(typesOf(changes)).toEqual(['usageChanged'])
  })

  test('the context window alone starts no reply', () => {
    expect(reduced([limit]).reply.startedAt).toBeUndefined()
  })

  test('a lost connection and a stall are reported once, and do not affect the phase', () => {
    const { reply, changes } = after(lost, lost, stalled, stalled)
    expect(reply).toMatchObject({ connection: 'lost', stalled: true, phase: 'working' })
    expect(typesOf(changes)).toEqual(['connectionChanged', 'stalledChanged'])
  })

  test('a stall ends with the reply', () => {
    const { reply, changes } = after(stalled, settle('time-out'))
    expect(reply.stalled).toBe(false)
    expect(changes).toContainEqual({ type: 'stalledChanged', stalled: false })
  })

  test('the checklist is reported when it changes', () => {
    const told = { type: 'todos', at, sessionID: root, todos } as const
    const { reply, changes } = after(told, { ...told, todos: [...todos] })
    expect(reply.todos).toEqual(todos)
    expect(typesOf(changes)).toEqual(['todosChanged'])
  })

  test('the agent and the model are those of the last message that names them', () => {
    const model = { providerID: 'p', modelID: 'm' }
    const { reply } = after(message('m2', { agent: 'plan', model }), message('m3'))
    expect(reply).toMatchObject({ agent: 'plan', model })
  })

  test('the finish is that of the last step', () => {
    const { reply } = after(message('m1', { finish: 'tool-calls' }), message('m2', { finish: 'length' }))
    expect(reply.finish).toBe('length')
  })
})
