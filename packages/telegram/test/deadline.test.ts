import { testDeadline } from '../../sink/test/deadline.ts'
import { type TelegramApi, telegramSink } from '../src/index.ts'

const api = { token: '123456:abcdefghijklmnopqrstuvwxyz-ABCDEFGH' }

testDeadline(api as unknown as TelegramApi, (client, options) => telegramSink({ api: client, chatId: 7, ...options }))
