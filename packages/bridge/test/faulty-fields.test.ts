import { bridgeChannel as slack } from '@reply/slack/bridge'
import { bridgeChannel as telegram } from '@reply/telegram/bridge'
import { bridgeChannel as whatsapp } from '@reply/whatsapp/bridge'
import { expect, test } from 'vitest'
import { faultyFields } from '../src/config/faulty-fields.ts'

const namesOf = (...given: Parameters<typeof faultyFields>): readonly string[] =>
  faultyFields(...given).map(({ name }) => name)

test('asks for what a channel needs, and knows secrets', () => {
  expect(faultyFields(telegram.schema, { type: 'telegram' })).toEqual([
    {
      name: 'token',
      description: expect.stringContaining('@BotFather'),
      isSecret: true,
      choices: [],
      fault: undefined,
    },
  ])
  expect(faultyFields(telegram.schema, { type: 'telegram', token: { env: 'TOKEN' } })).toEqual([])
})

test('asks for what other fields make necessary', () => {
  expect(namesOf(slack.schema, { type: 'slack', token: { env: 'TOKEN' } })).toEqual(['appToken'])
})

test('asks first which kind of a channel is meant, and then for the fields of that kind', () => {
  expect(faultyFields(whatsapp.schema, { type: 'whatsapp' })).toMatchObject([
    { name: 'api', choices: ['cloud', 'baileys'], isSecret: false },
  ])
  expect(namesOf(whatsapp.schema, { type: 'whatsapp', api: 'baileys' })).toEqual(['auth', 'number'])
})

test('says what is wrong with a value', () => {
  const entry = { type: 'whatsapp', api: 'baileys', auth: './login', number: 'mine' }
  expect(faultyFields(whatsapp.schema, entry)).toMatchObject([{ name: 'number', fault: expect.any(String) }])
})
