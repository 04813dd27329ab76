import { en } from 'zod/locales'

/** Makes a parse say what is wrong. Without it, zod's small build says only that something is. */
export const inEnglish = { error: en().localeError }
