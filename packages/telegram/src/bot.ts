const byOptions = new WeakMap<object, Map<string, object>>()
const byToken = new Map<string, object>()

/**
 * One object per bot, which its clients share. grammY makes a new `Api` for each update (`ctx.api`), with the token and
 * the client options of `bot.api`. Another kind of client stands for itself.
 */
export function botOf(api: object): object {
  if (!('token' in api) || typeof api.token !== 'string') return api
  const options = 'options' in api && typeof api.options === 'object' ? api.options : undefined
  const bots = options ? botsWith(options) : byToken
  const bot = bots.get(api.token) ?? {}
  bots.set(api.token, bot)
  return bot
}

function botsWith(options: object): Map<string, object> {
  const bots = byOptions.get(options) ?? new Map<string, object>()
  byOptions.set(options, bots)
  return bots
}
