export { type Ending, endingOf, lossTexts, type NoText, type StopReason, stopTexts } from './show/ending.ts'
export { amount, contextPercent, counted, dollars, duration, elapsed } from './show/numbers.ts'
export { reasonIn } from './show/reason.ts'
export { type ToolEnd, type ToolFacts, toolFacts } from './show/tool.ts'
