export { telegramLimits } from './limits.ts'
export { createTelegramPort, renderFor } from './port.ts'
export { renderHtml, renderRich } from './render.ts'
