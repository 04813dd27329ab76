import './no-eval.ts'

import { createRoot } from 'react-dom/client'
import { Chat } from './chat.tsx'
import { chatIdInAddress } from './chat-id.ts'

const place = document.getElementById('app')
if (place) createRoot(place).render(<Chat chatId={chatIdInAddress()} />)
