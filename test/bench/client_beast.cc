/*
 * Boost.Beast, OpenSSL and simdjson, tuned: a blocking socket, a large buffer
 * below Beast's small one for frames, and messages decoded in place.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "bench.h"
#include "client.h"
#include "decoders.h"

#include <boost/asio/buffered_read_stream.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>

#include <exception>
#include <memory>
#include <string>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using asio::ip::tcp;

constexpr std::size_t read_ahead = 524288;

struct TlsArguments {
    asio::io_context &io;
    asio::ssl::context &context;
};

// A buffered stream passes one argument to the stream below it.
struct Tls : asio::ssl::stream<tcp::socket> {
    explicit Tls(const TlsArguments &arguments)
        : stream(arguments.io, arguments.context) {
    }
};

inline tcp::socket &closable(tcp::socket &socket) {
    return socket;
}

inline asio::ssl::stream<tcp::socket> &closable(Tls &tls) {
    return tls;
}

using Plain = asio::buffered_read_stream<tcp::socket>;
using Secure = asio::buffered_read_stream<Tls>;

// Tells Beast how to close a stream below its own.
namespace boost {
namespace asio {

template <class Stream>
void teardown(beast::role_type role, buffered_read_stream<Stream> &stream,
              beast::error_code &error) {
    using beast::websocket::teardown;

    teardown(role, closable(stream.next_layer()), error);
}

} // namespace asio
} // namespace boost

namespace {

template <class Stream>
void receive(websocket::stream<Stream> &ws, const client &client) {
    beast::flat_buffer buffer;
    bool done = false;

    ws.set_option(
        websocket::stream_base::decorator([](websocket::request_type &request) {
            request.set(beast::http::field::authorization,
                        "Bearer " CLIENT_TOKEN);
        }));
    ws.handshake(std::string(CLIENT_HOST ":") + client.port, client.path);
    ws.text(true);
    ws.write(asio::buffer(std::string(client.request)));
    buffer.reserve(read_ahead);
    while (!done) {
        ws.read(buffer);
        buffer.reserve(buffer.size() + BENCH_PADDING);
        const char *text = static_cast<const char *>(buffer.data().data());
        // Only the response to the request begins like this.
        if (buffer.size() < 7 || memcmp(text, "{\"type\"", 7) != 0) {
            done = client_message(decode_simdjson(text, buffer.size()));
        }
        buffer.clear();
    }
}

void run_plain(asio::io_context &io, const client &client) {
    tcp::resolver resolver(io);
    websocket::stream<Plain> ws(io, read_ahead);
    tcp::socket &socket = ws.next_layer().next_layer();

    asio::connect(socket, resolver.resolve(CLIENT_HOST, client.port));
    socket.set_option(tcp::no_delay(true));
    receive(ws, client);
}

// A full handshake, or one that resumes the previous connection's session.
void run_secure(asio::io_context &io, asio::ssl::context &context,
                const client &client, std::shared_ptr<SSL_SESSION> &session) {
    tcp::resolver resolver(io);
    TlsArguments arguments{io, context};
    websocket::stream<Secure> ws(arguments, read_ahead);
    Tls &tls = ws.next_layer().next_layer();
    tcp::socket &socket = tls.next_layer();
    SSL *ssl = tls.native_handle();

    asio::connect(socket, resolver.resolve(CLIENT_HOST, client.port));
    socket.set_option(tcp::no_delay(true));
    SSL_set_tlsext_host_name(ssl, CLIENT_HOST);
    tls.set_verify_callback(asio::ssl::host_name_verification(CLIENT_HOST));
    if (session) {
        SSL_set_session(ssl, session.get());
    }
    tls.handshake(asio::ssl::stream_base::client);
    receive(ws, client);
    if (client.resume) {
        session.reset(SSL_get1_session(ssl), SSL_SESSION_free);
    }
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

} // namespace

int main(int argc, char **argv) {
    const client &client = *client_begin(argc, argv);

    try {
        asio::io_context io;
        asio::ssl::context context(asio::ssl::context::tls_client);
        std::shared_ptr<SSL_SESSION> session;

        context.set_verify_mode(asio::ssl::verify_peer);
        if (client.tls) {
            context.load_verify_file(client.ca);
        }
        do {
            client_connecting();
            if (client.tls) {
                run_secure(io, context, client, session);
            } else {
                run_plain(io, client);
            }
        } while (client_again());
    } catch (const std::exception &error) {
        client_fail(error.what());
    }
    return client_end();
}
