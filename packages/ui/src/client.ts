export { sendWhenAnswered, type UIMessageOf, type UIPartLike, uiTextOf } from './page.ts'
