import type { Child, Reply } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { call, replyWith, saidIn, text, thought, viewOf } from './make.ts'
import { createScene, type Scene } from './scene.ts'
import { beginning } from './timeline.ts'

const statusOf = (reply: Reply): string | undefined => saidIn(viewOf(reply), 'status')[0]
const agent = (title: string, reply: Reply, more: Partial<Child> = {}): Child => ({
  ...{ background: false, agent: 'general', callID: 'call_1', title },
  reply: { ...reply, sessionID: `ses_${title}` },
  ...more,
})
const long = 'Find every place where the token is read from the environment'

describe('the activity of a sub-agent', () => {
  test('has a description of at most 40 units, so that its tool is seen', () => {
    const reading = replyWith([call('read', { title: 'notes.md' })])
    const said = statusOf(replyWith([], { children: [agent(long, reading)] }))
    expect(said).toBe('general(Find every place where the token is rea…) · read: notes.md')
    expect(/\((.*)\)/.exec(said ?? '')?.[1]).toHaveLength(40)
  })

  test('shows the tool of the deepest one', () => {
    const deepest = agent(long, replyWith([call('bash', { title: 'npm test' })]), { agent: 'explore' })
    const said = statusOf(replyWith([], { children: [agent(long, replyWith([], { children: [deepest] }))] }))
    expect(said).toMatch(/^general\(Find .*… · bash: npm test$/)
  })

  test.each<[string, Partial<Child>, Reply, string]>([
    ['without a name', { agent: undefined, title: undefined }, replyWith([]), 'sub-agent'],
    ['that writes', {}, replyWith([text('It', { status: 'open' })]), 'general(Explore) · Writing'],
    ['that thinks', {}, replyWith([{ ...thought('Hm'), status: 'open' }]), 'general(Explore) · Thinking'],
    ['with a tool of a server', {}, replyWith([call('github_search', { title: 'a' })]), 'general(Explore) · search: a'],
  ])('%s', (_, more, reply, said) => {
    expect(statusOf(replyWith([], { children: [agent('Explore', reply, more)] }))).toBe(said)
  })
})

describe('the time in the status', () => {
  const shownIn = ({ fake }: Scene) => fake.screen().map((message) => message.text)[0]
  const scene = () =>
    createScene({
      fake: { limits: { perChat: { calls: 9, perMs: 1000 } } },
      sink: { policy: { statusTickMs: 1000, editIntervalMs: 100 } },
    })

  test('is that of the label, and goes on while the label stays', async () => {
    const { show, pass, ...rest } = scene()
    const [first, second] = [call('bash', { title: 'npm test' }), call('bash', { title: 'npm test' })]
    show(replyWith([first]))
    await pass(8000)
    expect(shownIn({ show, pass, ...rest })).toBe('*bash: npm test · 8s*')
    show(replyWith([{ ...first, status: 'sealed', state: { ...first.state, status: 'completed' } }, second]))
    await pass(3000)
    expect(shownIn({ show, pass, ...rest })).toBe('*bash: npm test · 3s*')
    show(
      replyWith([
        { ...first, status: 'sealed' },
        { ...second, state: { ...second.state, title: 'npm run lint' } },
      ]),
    )
    await pass(2000)
    expect(shownIn({ show, pass, ...rest })).toBe('*bash: npm run lint · 5s*')
  })

  test('is one for all that a sub-agent does', async () => {
    const { show, pass, ...rest } = scene()
    const child = (title: string) =>
      agent('Explore', replyWith([call('read', { title })], { startedAt: beginning + 4000 }))
    show(replyWith([call('task')]))
    await pass(5000)
    show(replyWith([], { children: [child('a.md')] }))
    await pass(5000)
    expect(shownIn({ show, pass, ...rest })).toBe('*general(Explore) · read: a.md · 6s*')
    show(replyWith([], { children: [child('b.md')] }))
    await pass(5000)
    expect(shownIn({ show, pass, ...rest })).toBe('*general(Explore) · read: b.md · 11s*')
  })
})
