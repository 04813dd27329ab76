import { expect, test } from 'vitest'
import { createListening } from '../src/inbound/listening.ts'
import { withResolvers } from '../src/with-resolvers.ts'

/** Steps that are written down, and whose check and end can be held. */
function listen(steps: { check?: () => Promise<void>; begin?: () => Promise<void>; end?: () => Promise<void> } = {}) {
  const done: string[] = []
  const listening = createListening({
    check: async () => {
      done.push('check')
      await steps.check?.()
    },
    begin: async () => {
      done.push('begin')
      await steps.begin?.()
    },
    end: async () => {
      done.push('end')
      await steps.end?.()
    },
  })
  return { done, ...listening }
}

test('a second start joins the first, and a stop in between makes it another one', async () => {
  const { done, start, stop } = listen()
  await Promise.all([start(), start()])
  await start()
  expect(done).toEqual(['check', 'begin'])
  await stop()
  await start()
  expect(done).toEqual(['check', 'begin', 'end', 'check', 'begin'])
})

test('a stop during the check prevents the start, and the next start begins once', async () => {
  const checked = withResolvers<void>()
  const { done, start, stop } = listen({ check: () => checked.promise })
  const first = start()
  await stop()
  const second = start()
  checked.resolve()
  await Promise.all([first, second])
  expect(done.filter((step) => step === 'begin')).toEqual(['begin'])
})

test('a start waits for a stop that is pending', async () => {
  const ended = withResolvers<void>()
  const { done, start, stop } = listen({ end: () => ended.promise })
  await start()
  const stopped = stop()
  const started = start()
  expect(done).toEqual(['check', 'begin', 'end'])
  ended.resolve()
  await Promise.all([stopped, started])
  expect(done).toEqual(['check', 'begin', 'end', 'check', 'begin'])
})

test.each(['check', 'begin'] as const)(
  'a start that is refused in %s is stopped, and can be tried again',
  async (step) => {
    let isRefused = true
    const refuse = async (): Promise<void> => {
      if (isRefused) throw new Error('The token is wrong.')
    }
    const { done, start } = listen({ [step]: refuse })
    await expect(start()).rejects.toThrow('The token is wrong.')
    expect(done.at(-1)).toBe('end')
    isRefused = false
    await start()
    expect(done.slice(-2)).toEqual(['check', 'begin'])
  },
)

test('a check begins nothing', async () => {
  const { done, check } = listen()
  await check()
  expect(done).toEqual(['check'])
})

test('a stop that fails rejects, and the next start begins', async () => {
  const { done, start, stop } = listen({
    end: async () => {
      throw new Error('The socket is gone.')
    },
  })
  await start()
  await expect(stop()).rejects.toThrow('The socket is gone.')
  await start()
  expect(done.slice(-2)).toEqual(['check', 'begin'])
})
