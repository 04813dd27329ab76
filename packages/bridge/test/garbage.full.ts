import { test } from 'vitest'
import { startChats } from './chats.ts'
import { answer, localAgent } from './local-agent.ts'
import { rawNames, startRaw } from './raw-events.ts'

/** What takes the place of each field of a good event. */
const wrong: readonly unknown[] = [null, -1, 'x', '', [], {}, [{}], true, undefined]

/** The event with each of its fields missing or of another shape, one at a time. */
function broken(event: unknown): readonly unknown[] {
  if (typeof event !== 'object' || event === null) return []
  return Object.entries(event).flatMap(([name, inner]) => {
    const put = (value: unknown): unknown =>
      Array.isArray(event) ? event.map((one, at) => (String(at) === name ? value : one)) : { ...event, [name]: value }
    return [...wrong, ...broken(inner)].map(put)
  })
}

const bodies: readonly string[] = [
  ...['', '{', 'null', '[]', '"words"', '12', '{}', 'payload=%7B', '\u0000', '{"__proto__":{"update_id":1}}'],
  ...['['.repeat(20_000), `{"a":"${'x'.repeat(900_000)}"}`],
]

test.concurrent.for(rawNames)(
  'events of any shape are refused or passed over, and the messages around them answered once each: %s',
  async (name, { expect }) => {
    const { platform, event, deliver } = await startRaw(name)
    const agent = localAgent((run, text) => answer(run, `You said: ${text}`))
    const chats = await startChats({ platforms: [platform], connectTo: agent.connectTo })
    await chats.start()
    const whole = JSON.stringify(event(1, 'hello'))
    // Each one has ids of its own. Otherwise all but the first would be repeats.
    const events = broken(event(1, 'hello')).map((_, index) =>
      JSON.stringify(broken(event(1000 + index, 'hello'))[index]),
    )
    expect(events.length).toBeGreaterThan(50)
    const statuses = new Set<number | undefined>()
    const send = async (some: readonly string[]): Promise<void> => {
      for (const body of some) statuses.add(await deliver(body))
    }
    await send([...bodies, whole.slice(0, whole.length / 2)])
    platform.say('ann', 'first')
    await send(events)
    platform.say('ann', 'half of 😀: \ud83d.')
    await expect.poll(() => platform.texts().join()).toContain('You said: half of 😀')
    expect(platform.texts().filter((said) => said.startsWith('You said:'))).toEqual([
      'You said: first',
      expect.stringMatching(/^You said: half of 😀: \P{Surrogate}+$/u),
    ])
    expect(agent.heard).toHaveLength(2)
    expect([...statuses].toSorted()).toEqual(name.endsWith('webhook') ? [200, 400] : [undefined])
    // Each fault is one that the channel names, and none is a mistake of the program.
    expect(chats.errors.filter((error) => !('type' in error))).toEqual([])
    expect(chats.errors.length).toBeGreaterThan(0)
    await chats.close()
  },
)
