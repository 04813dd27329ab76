import { expect, test } from 'vitest'
import { until } from './bot.ts'
import { create, heard } from './connected.ts'

// The client waits 5 s before it identifies itself again.
test('a session that Discord ends is replaced by another', async () => {
  const { discord, told, received, connection } = await create()
  await connection.start()
  await heard(discord, received)
  discord.invalidateSessions()
  await until(() => discord.connected === 1)
  await heard(discord, received)
  expect(told).toEqual([{ status: 'receiving' }])
})
