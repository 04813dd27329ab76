export { slackLimits } from './limits.ts'
export { createSlackPort } from './port.ts'
export { renderSlack } from './render.ts'
