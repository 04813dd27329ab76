import { expect, test } from 'vitest'
import { until } from './bot.ts'
import { create, heard } from './connected.ts'

// Codes after which a client may not reconnect by itself:
// https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes
test.each([
  [4004, "Discord rejected the bot's token."],
  [4014, "Discord refused the bot's intents."],
])('a gateway that closes with %i is told, tried again and again, and works again', async (code, words) => {
  const { discord, clock, errors, told, received, connection } = await create()
  await connection.start()
  await heard(discord, received)
  discord.setGateway(code)
  discord.dropGateway(code)
  for (let count = 1; count <= 3; count++) {
    await until(() => errors.length === count && clock.pending > 0)
    expect(told.at(-1)).toMatchObject({ status: 'disconnected', reason: expect.stringContaining(words) })
    if (count === 3) discord.setGateway('open')
    await clock.advance(5000 * 2 ** (count - 1))
  }
  await until(() => told.at(-1)?.status === 'receiving')
  await heard(discord, received)
  expect(told.map(({ status }) => status)).toEqual(['receiving', 'disconnected', 'receiving'])
})

test('a gateway that refuses the token or an intent at the start ends it', async () => {
  const { discord, told, connection } = await create()
  discord.setGateway(4014)
  await expect(connection.start()).rejects.toMatchObject({ type: 'unauthorized' })
  expect([told, discord.connected]).toEqual([[], 0])
})

test('a gateway that is away at the start does not hold it up, and is tried again', async () => {
  const { discord, clock, errors, told, received, connection } = await create()
  discord.setGateway('silent')
  const starting = connection.start()
  await until(() => discord.connections > 0)
  await clock.advance(60_000)
  await starting
  expect(errors).toMatchObject([{ type: 'updates', message: 'The gateway of Discord does not answer.' }])
  discord.setGateway('open')
  await clock.advance(1000)
  await until(() => told.length > 0)
  await heard(discord, received)
})

// https://docs.discord.com/developers/events/gateway#sending-heartbeats
test('a connection that answers no heartbeat is left for another, and a resume without an answer too', async () => {
  const { discord, clock, told, received, connection } = await create({ heartbeatMs: 100 })
  await connection.start()
  await heard(discord, received)
  discord.setGateway('silent')
  // The client leaves the connection, and waits for the answer to its resume.
  await until(() => clock.pending > 0)
  await clock.advance(60_000)
  expect(told.at(-1)).toMatchObject({ status: 'disconnected' })
  discord.setGateway('open')
  await until(() => clock.pending > 0)
  await clock.advance(2000)
  await until(() => told.at(-1)?.status === 'receiving')
  await heard(discord, received)
})

test('a stop while it tries again ends it', async () => {
  const { discord, clock, errors, connection } = await create()
  await connection.start()
  discord.setGateway(4004)
  discord.dropGateway(4004)
  await until(() => errors.length === 1 && clock.pending > 0)
  await connection.stop()
  expect(clock.pending).toBe(0)
})

test('a stop during the log-in ends it, and the next start logs in once', async () => {
  const { discord, clock, errors, received, connection } = await create()
  discord.setGateway('silent')
  const starting = connection.start()
  await until(() => discord.connections > 0)
  await connection.stop()
  await starting
  expect([clock.pending, errors]).toEqual([0, []])
  discord.setGateway('open')
  await connection.start()
  await heard(discord, received)
  expect([discord.connected, received.length]).toEqual([1, 1])
})
