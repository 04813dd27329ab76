import { testDeadline } from '../../sink/test/deadline.ts'
import { type DiscordRest, discordSink } from '../src/index.ts'
import { channelId } from './bot.ts'

testDeadline({} as DiscordRest, (rest, options) => discordSink({ rest, channelId, ...options }))
